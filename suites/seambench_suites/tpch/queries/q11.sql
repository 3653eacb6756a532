-- Q11, important stock: parts worth more than 0.01 % of all stock held in Germany.
-- The fraction is the one of scale 1; ps_partkey breaks ties.
WITH stock AS (
    SELECT ps_partkey, ps_supplycost * ps_availqty AS worth
    FROM partsupp
    JOIN supplier ON s_suppkey = ps_suppkey
    JOIN nation ON n_nationkey = s_nationkey
    WHERE n_name = 'GERMANY'
)
SELECT ps_partkey, sum(worth) AS value
FROM stock
GROUP BY ps_partkey
HAVING sum(worth) > (SELECT sum(worth) * 0.0001 FROM stock)
ORDER BY value DESC, ps_partkey;
