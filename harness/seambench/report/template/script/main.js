/* What each page needs; pages without an entry need nothing. */
import { startCost } from "./cost.js";
import { startMatrix } from "./matrix.js";
import { startQueries } from "./queries.js";

const START = { cost: startCost, matrix: startMatrix, queries: startQueries };
START[document.body.dataset.page]?.();
