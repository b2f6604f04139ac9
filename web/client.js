// A client of a program on encrypted data, in a browser: keys, encryption and decryption, in WebAssembly.
//
//     const library = await load(await (await fetch("polyfabric_client.wasm")).arrayBuffer());
//     const client = library.client(specification);               // makes a secret key, which stays here
//     const answer = await send(client.evaluationKey(), client.encrypt({bid: 200, reserve: 150}));
//     client.decrypt(answer);                                      // {accepted: 1, surplus: 50}
//     client.free();
//
// As a worker it does this for `index.html`, so that the page can be used meanwhile.

// `pf_bytes` and `pf_limits` of the C interface, whose pointers and sizes have 32 bits here.
const BYTES = 8;
const LIMITS = 16;

// The random numbers that a browser gives at once.
const MOST_RANDOM = 65536;

const STATUS = ["ok", "file", "input", "parameter", "run", "call", "defect"];

/** An error of the library; `status` is "file", "input", "parameter", "run", "call" or "defect", as in C. */
export class ClientError extends Error {
  constructor(status, message) {
    super(message);
    this.status = STATUS[status] ?? "defect";
  }
}

/** The library in `bytes`, the file polyfabric_client.wasm. */
export async function load(bytes) {
  let memory;
  const random = (target, size) => {
    try {
      for (let at = 0; at < size; at += MOST_RANDOM) {
        const count = Math.min(MOST_RANDOM, size - at);
        crypto.getRandomValues(new Uint8Array(memory.buffer, target + at, count));
      }
      return 1;
    } catch {
      return 0;
    }
  };
  const { instance } = await WebAssembly.instantiate(bytes, { polyfabric: { random } });
  memory = instance.exports.memory;
  return new Library(instance.exports);
}

class Library {
  constructor(functions) {
    this.functions = functions;
  }

  /** A client of the program with this specification (bytes). It has a fresh secret key, or `key` from `Client.key`. It rejects a set of less than
   * `security` bits, and an evaluation key of more than `keyBytes`. */
  client(specification, { key, security = 128, keyBytes = 1 << 30 } = {}) {
    return new Client(this, specification, key, security, keyBytes);
  }

  /** Memory of the library with `content`, while `work` runs. */
  lend(content, work) {
    // No memory of size 0.
    const size = content.length || 1;
    const place = this.functions.pf_allocate(size);
    if (place === 0) throw new ClientError(4, `no memory for ${size} bytes; close other pages`);
    try {
      this.bytes(place, content.length).set(content);
      return work(place, content.length);
    } finally {
      this.functions.pf_release(place, size);
    }
  }

  // The memory moves when it grows, so that no view is kept.
  bytes(place, size) {
    return new Uint8Array(this.functions.memory.buffer, place, size);
  }

  view() {
    return new DataView(this.functions.memory.buffer);
  }

  check(status) {
    if (status === 0) return;
    const place = this.functions.pf_error();
    const end = new Uint8Array(this.functions.memory.buffer).indexOf(0, place);
    throw new ClientError(status, new TextDecoder().decode(this.bytes(place, end - place)));
  }

  /** The bytes that a call writes to its last argument. */
  result(call) {
    return this.lend(new Uint8Array(BYTES), (place) => {
      this.check(call(place));
      const [data, size] = [this.view().getUint32(place, true), this.view().getUint32(place + 4, true)];
      const found = this.bytes(data, size).slice();
      this.functions.pf_bytes_free(place);
      return found;
    });
  }
}

class Client {
  constructor(library, specification, key, security, keyBytes) {
    this.library = library;
    const { pf_client_generate: generate, pf_client_load: read } = library.functions;
    const limits = new Uint8Array(LIMITS);
    const view = new DataView(limits.buffer);
    view.setFloat64(0, security, true);
    view.setBigUint64(8, BigInt(keyBytes), true);
    this.handle = library.lend(specification, (text, size) =>
      library.lend(limits, (accepted) =>
        library.lend(new Uint8Array(4), (place) => {
          if (key === undefined) {
            library.check(generate(text, size, accepted, place));
          } else {
            library.lend(key, (own, ownSize) => library.check(read(text, size, own, ownSize, accepted, place)));
          }
          return library.view().getUint32(place, true);
        }),
      ),
    );
  }

  /** The secret key, which decrypts everything. */
  key() {
    return this.library.result((place) => this.library.functions.pf_client_save(this.handle, place));
  }

  /** A new evaluation key, for the server. */
  evaluationKey() {
    return this.library.result((place) => this.library.functions.pf_client_evaluation_key(this.handle, place));
  }

  /** A request with these inputs, an object. Integers beyond 2^53 may be of the type BigInt. */
  encrypt(inputs) {
    const text = JSON.stringify(inputs, (_, value) => (typeof value === "bigint" ? `${value}` : value));
    const { library, handle } = this;
    return library.lend(new TextEncoder().encode(`${text}\0`), (place) =>
      library.result((found) => library.functions.pf_client_encrypt(handle, place, found)),
    );
  }

  /** The outputs in a server's answer (bytes), as an object. */
  decrypt(answer) {
    const { library, handle } = this;
    const found = library.lend(answer, (place, size) =>
      library.result((target) => library.functions.pf_client_decrypt(handle, place, size, target)),
    );
    return JSON.parse(new TextDecoder().decode(found));
  }

  /** Wipes the secret key. */
  free() {
    this.library.functions.pf_client_free(this.handle);
    this.handle = 0;
  }
}

// -- the page -----------------------------------------------------------------------------------------------------

/** Asks the server of the page, with a tenant's token. */
async function ask(token, path, options = {}) {
  const answer = await fetch(path, { ...options, headers: { Authorization: `Bearer ${token}` }, cache: "no-store" });
  if (!answer.ok) throw new Error(`the server answers ${answer.status}: ${await answer.text()}`);
  return new Uint8Array(await answer.arrayBuffer());
}

/** What the worker does for the page: each request is { call, .. }, and its answer { result } or { error }. */
function worker() {
  // One client for each program, and the names of its key at the server.
  const clients = new Map();
  let library;

  async function run({ token, program, inputs }, tell) {
    const path = `/programs/${program}`;
    if (!clients.has(program)) {
      const specification = await ask(token, path);
      library ??= await load(await (await fetch("polyfabric_client.wasm")).arrayBuffer());
      tell("making keys");
      const begin = performance.now();
      const client = library.client(specification);
      const key = client.evaluationKey();
      tell(`sending the evaluation key, ${(key.length / 2 ** 20).toFixed(1)} MiB, made in ${seconds(begin)}`);
      // A name of its own, so that pages of one tenant do not replace each other's keys.
      const name = `page-${crypto.getRandomValues(new Uint32Array(4)).join("-")}`.slice(0, 64);
      await ask(token, `${path}/keys/${name}`, { method: "PUT", body: key });
      clients.set(program, { client, name });
    }
    const { client, name } = clients.get(program);
    tell("encrypting");
    const request = client.encrypt(inputs);
    tell(`the server computes on ${(request.length / 1024).toFixed(0)} KiB of ciphertexts`);
    const begin = performance.now();
    const answer = await ask(token, `${path}:run?key=${name}`, { method: "POST", body: request });
    tell(`answered in ${seconds(begin)}`);
    return client.decrypt(answer);
  }

  /** Removes the keys from the server, and here. */
  async function leave({ token }) {
    for (const [program, { client, name }] of clients) {
      await ask(token, `/programs/${program}/keys/${name}`, { method: "DELETE" });
      client.free();
      clients.delete(program);
    }
  }

  const calls = { run, leave };
  self.onmessage = async ({ data }) => {
    try {
      self.postMessage({ result: (await calls[data.call](data, (stage) => self.postMessage({ stage }))) ?? null });
    } catch (error) {
      self.postMessage({ error: error.message });
    }
  };
}

const seconds = (begin) => `${((performance.now() - begin) / 1000).toFixed(1)} s`;

/** Connects the form of the page. */
function page() {
  const part = (name) => document.getElementById(name);
  const working = new Worker("client.js", { type: "module" });
  const token = () => part("token").value.trim();
  const specifications = new Map();

  /** Runs `work` while the buttons are off, and shows its error. */
  const act = (work) => async (event) => {
    event?.preventDefault();
    part("parts").disabled = true;
    part("error").textContent = "";
    try {
      await work();
    } catch (error) {
      part("error").textContent = error.message;
    } finally {
      part("parts").disabled = false;
    }
  };

  /** The worker's result. */
  const call = (message) =>
    new Promise((resolve, reject) => {
      working.onmessage = ({ data }) => {
        if ("stage" in data) part("stage").textContent = data.stage;
        else if ("error" in data) reject(new Error(data.error));
        else resolve(data.result);
      };
      working.onerror = (event) => reject(new Error(`the page's worker failed: ${event.message}`));
      working.postMessage(message);
    });

  const text = (bytes) => JSON.parse(new TextDecoder().decode(bytes));

  /** Shows the types of the program that is chosen, and an example of its inputs. */
  async function show() {
    const program = part("program").value;
    if (!specifications.has(program)) specifications.set(program, text(await ask(token(), `/programs/${program}`)));
    const { scheme, shapes, signature } = specifications.get(program);
    const set = (specifications.get(program).parameters ?? Object.values(signature.parameters)[0]).name;
    part("set").textContent = `${scheme.toUpperCase()}, parameter set ${set}`;
    let names = signature.inputs.map(({ name }) => name);
    if (shapes.ends) names = shapes.ends.inputs.map(([name]) => name);
    else if (shapes.copies) names = names.filter((name) => name.endsWith(".0")).map((name) => name.slice(0, -2));
    else if (shapes.inputs) names = Object.keys(shapes.inputs);
    part("inputs").value = `{${names.map((name) => `"${name}": 0`).join(", ")}}`;
  }

  part("connect").onsubmit = act(async () => {
    const programs = text(await ask(token(), "/programs"));
    part("program").replaceChildren(...Object.keys(programs).map((name) => new Option(name)));
    part("run").hidden = false;
    await show();
  });
  part("program").onchange = act(show);
  part("run").onsubmit = act(async () => {
    part("outputs").textContent = "";
    const inputs = JSON.parse(part("inputs").value);
    const outputs = await call({ call: "run", token: token(), program: part("program").value, inputs });
    part("outputs").textContent = JSON.stringify(outputs);
  });
  part("leave").onclick = act(() => call({ call: "leave", token: token() }));
}

if (typeof document !== "undefined") page();
else if (typeof WorkerGlobalScope !== "undefined") worker();
