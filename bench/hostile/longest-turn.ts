import type { TestServer } from '../../src/server/testing/server.ts';
import { testServer } from '../../src/server/testing/server.ts';
import type { HostileCase } from '../../test/hostile/case.ts';
import type { HostileRequest, Outcome } from '../../test/hostile/client.ts';

/**
 * Milliseconds of processor time of the longest turn of the event loop while a server in this process handles a case. Other
 * processes do not count. The second of two rounds counts, when the code is compiled.
 */
export async function longestTurn(hostile: HostileCase): Promise<number> {
  await using server = await testServer();
  const prepared = await requestsOf(async (send) => {
    for (const request of hostile.prepare?.(placeOf(send)) ?? []) await send(request);
  });
  // Created before, so that it is not measured.
  const sent = await requestsOf(async (send) => {
    await hostile.attack(placeOf(send), AbortSignal.timeout(60_000));
  });
  let longest = 0;
  for (let round = 0; round < 2; round++) {
    for (const request of prepared) await ask(server, request);
    longest = await longestTurnOf(() => Promise.all(sent.map((request) => ask(server, request))));
  }
  return longest;
}

type Send = (request: HostileRequest) => Promise<Outcome>;
type Place = Parameters<HostileCase['attack']>[0];

// A case only calls `send` of its server.
const placeOf = (send: Send): Place => ({ server: { send } as Place['server'], namespace: 'default' });

async function requestsOf(run: (send: Send) => Promise<void>): Promise<HostileRequest[]> {
  const requests: HostileRequest[] = [];
  await run(async (request) => {
    requests.push(request);
    return { status: 0, bytes: 0, text: '' };
  });
  return requests;
}

const ask = (server: TestServer, { method, path, body, type }: HostileRequest): Promise<unknown> =>
  server.ask(method, path, { body, ...(type === undefined ? {} : { type }) });

async function longestTurnOf(run: () => Promise<unknown>): Promise<number> {
  let [longest, isOver] = [0, false];
  let before = cpuMs();
  const turn = (): void => {
    const now = cpuMs();
    longest = Math.max(longest, now - before);
    before = now;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await run();
  isOver = true;
  return longest;
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
