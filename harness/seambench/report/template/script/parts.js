/* Parts of the data: scripts beside the page, since a page opened from disk may not fetch. */

const waiting = new Map(); // name -> {promise, done}

globalThis.SEAMBENCH = { part: (name, data) => waiting.get(name)?.done(data) };

/** The data of a part; loaded once. */
export function part(words) {
  const name = words.replace(/[^A-Za-z0-9.-]+/g, "_"); // as the files are called
  if (!waiting.has(name)) {
    const one = {};
    one.promise = new Promise((done, failed) => {
      one.done = done;
      const script = document.createElement("script");
      script.src = `data/${name}.js`;
      script.onerror = () => failed(new Error(`${script.src} is missing`));
      document.head.append(script);
    });
    waiting.set(name, one);
  }
  return waiting.get(name).promise;
}
