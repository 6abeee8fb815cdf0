// A client with the fetch of Node: node client.mjs MODE
const url = `${process.env.CONFORM_PROXY_URL}/pets?limit=1`;
const headers = { Authorization: `Bearer ${process.env.CLIENT_KEY}` };
const sleep = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));

// Milliseconds to wait, for both forms of RFC 9110.
const told = value => {
  if (value === null) return 4000;
  return /^\d+$/.test(value) ? value * 1000 : Math.max(0, Date.parse(value) - Date.now());
};

const ask = async () => {
  const answer = await fetch(url, { headers });
  await answer.arrayBuffer();
  return answer.status === 429 ? told(answer.headers.get('retry-after')) : null;
};

const jobs = async wait => {
  for (let job = 0; job < 24; job++) {
    // The pause shows a single task.
    await sleep(60);
    for (let attempt = 0; attempt < 5; attempt++) {
      const refused = await ask();
      if (refused === null) break;
      await sleep(wait(refused));
    }
  }
};

let until = 0;
const gated = async each => {
  for (let done = 0; done < each;) {
    if (until > Date.now()) {
      await sleep(until - Date.now());
      continue;
    }
    const refused = await ask();
    if (refused === null) done++;
    else until = Math.max(until, Date.now() + refused);
    await sleep(10);
  }
};

const modes = {
  told: () => jobs(refused => refused),
  tasks: () => Promise.all(Array.from({ length: 8 }, () => gated(4))),
  milliseconds: () => jobs(refused => refused / 1000),
};
await modes[process.argv[2]]();
