// Each row of the policy about clients, with the fetch of Node: node policy.mjs MODE
const base = process.env.CONFORM_PROXY_URL, key = process.env.CLIENT_KEY;
const sleep = seconds => new Promise(resolve => setTimeout(resolve, Math.max(0, seconds) * 1000));

const under = scheme => ({ authorization: `${scheme} ${key}` });
const ask = async (method, path, body, credential = under('Bearer')) => {
  const headers = { ...credential, ...(body && { 'content-type': 'application/json' }) };
  const answer = await fetch(base + path, { method, headers, body });
  return { status: answer.status, told: answer.headers.get('retry-after'), text: await answer.text() };
};
const listed = () => ask('GET', '/pets?limit=1');

// Lists until the key is refused; the seconds to wait.
const refused = async () => {
  for (;;) {
    const { status, told } = await listed();
    if (status === 429) return /^\d+$/.test(told) ? Number(told) : (Date.parse(told) - Date.now()) / 1000;
  }
};
const created = async () => (await ask('POST', '/pets', '{"name":"Rex","categoryId":1}')).text;
const exact = async () => BigInt(/"id":(\d+)/.exec(await created())[1]);
const times = async (count, does) => { for (let at = 0; at < count; at++) await does(at); };

const modes = {
  'told': () => times(3, async () => sleep(await refused())),
  'early': async () => {
    await refused();
    await times(5, async () => { await sleep(0.6); await listed(); });
  },
  'early-once': async () => {
    const wait = await refused();
    await sleep(1.5);
    await listed();
    await sleep(wait);
    await listed();
  },
  'hammer': async () => { await refused(); await times(70, listed); },
  'key-in-query': () => ask('GET', `/pets?api_key=${key}`, undefined, {}),
  'key-in-body': () => ask('POST', '/pets', JSON.stringify({ name: 'Rex', categoryId: 1, apiKey: key }), {}),
  'key-in-path': async () => { await listed(); await ask('GET', `/${key}/pets`, undefined, {}); },
  'key-in-field': () => ask('GET', '/pets', undefined, { 'x-api-key': key }),
  'key-outside': async () => { await listed(); await ask('GET', `/../metrics?who=${key}`, undefined, {}); },
  'scheme': async () => { await listed(); await ask('GET', '/pets?limit=1', undefined, under('Token')); },
  'scheme-case': async () => { await listed(); await ask('GET', '/pets?limit=1', undefined, under('bearer')); },
  'bad-body': () => times(6, () => ask('POST', '/pets', '{"name":"Rex"}')),
  'bad-query': () => times(6, () => ask('GET', '/pets?limit=1000')),
  'bad-values': () => times(8, at => ask('POST', '/pets', JSON.stringify({ name: `Rex ${at}` }))),
  'double-ids': async () => ask('GET', `/pets/${JSON.parse(await created()).id}`),
  'cut-ids': async () => ask('GET', `/pets/${BigInt.asUintN(32, await exact())}`),
  'separated-ids': async () => ask('GET', `/pets/${(await exact()).toLocaleString('en')}`),
  'exact-ids': async () => {
    const id = await exact();
    for (const path of [id, id, 4711]) await ask('GET', `/pets/${path}`);
  },
  'removed': () => times(3, () => ask('GET', '/pets/2031')),
};
await modes[process.argv[2]]();
