import { networkInterfaces } from 'node:os';

/** The first address of an interface that others reach. */
export function firstAddress(): string {
  const all = Object.values(networkInterfaces()).flat();
  const found = all.filter((each) => each !== undefined && !each.internal && !each.address.startsWith('fe80:'));
  return (found.find((each) => each?.family === 'IPv4') ?? found[0])?.address ?? '127.0.0.1';
}

/** What processes inherit of the environment of their agent. */
export function processEnvironment(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const { PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME = '/', LANG } = env;
  return { PATH, HOME, ...(LANG === undefined ? {} : { LANG }) };
}
