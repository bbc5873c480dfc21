// Checks once at the start whether nftables supports what the rules need.
import type { IpFamily } from '../../api/addresses.ts';
import { unknownNetwork } from '../routes/route.ts';
import type { Chain } from './chains.ts';
import { chainName, chainRules } from './chains.ts';
import { NftablesError } from './errors.ts';
import type { ProgramLine } from './program.ts';
import { runProgram } from './program.ts';
import { nftFamily, skeleton } from './skeleton.ts';

const minVersion = [1, 0, 1] as const;
const timeoutMs = 10_000;

/** Throws a NftablesError that names what is missing and the fix. Changes nothing. */
export async function probe(program: ProgramLine, families: readonly IpFamily[]): Promise<void> {
  const { code, stdout } = await runProgram(program, ['--version'], { timeoutMs });
  if (code === 'ENOENT') {
    throw new NftablesError(
      'nft-missing',
      `no program "${program[0]}": install nftables ${minVersion.join('.')} or newer, or use --proxy-mode userspace`,
    );
  }
  const version = /v(\d+)\.(\d+)\.(\d+)/.exec(stdout)?.slice(1).map(Number) ?? [];
  if (isOlder(version)) {
    throw new NftablesError(
      'nft-old',
      `nftables is ${stdout.trim()}, which is too old: install ${minVersion.join('.')} or newer, or use --proxy-mode userspace`,
    );
  }
  for (const family of families) await tryRules(program, family);
}

function isOlder(version: readonly number[]): boolean {
  for (const [index, wanted] of minVersion.entries()) {
    const part = version[index] ?? 0;
    if (part !== wanted) return part < wanted;
  }
  return false;
}

/** Makes the kernel check every kind of rule, without creating a table. */
async function tryRules(program: ProgramLine, family: IpFamily): Promise<void> {
  const table = 'fairlead-probe';
  const of = `${nftFamily(family)} ${table}`;
  const chains: readonly Chain[] = [
    { type: 'affinity', protocol: 'tcp', seconds: 60 },
    { type: 'pick', protocol: 'udp', count: 2, isNear: true, masquerades: true },
    { type: 'sticky', protocol: 'sctp', count: 2, isNear: false, masquerades: false },
  ];
  const commands = [
    ...skeleton(table, family, { ...unknownNetwork, masqueradeAll: true }),
    ...chains.map((chain) => `add chain ${of} ${chainName(chain)}`),
    ...chains.flatMap((chain) => chainRules(chain, family).map((rule) => `add rule ${of} ${chainName(chain)} ${rule}`)),
  ];
  const input = `${commands.join('\n')}\n`;
  const { code, stderr } = await runProgram(program, ['-c', '-f', '-'], { input, timeoutMs });
  if (code === 0) return;
  if (/not permitted/i.test(stderr)) {
    throw new NftablesError(
      'nft-rights',
      'nftables may not be changed: run as root or with CAP_NET_ADMIN, or use --proxy-mode userspace',
    );
  }
  const first = stderr.trim().split('\n').slice(0, 2).join(' ').slice(0, 300);
  throw new NftablesError(
    'nft-unsupported',
    `this kernel or nft does not support ${family} rules (${first}): use Linux 5.13 and nftables 1.0.1 or newer, or --proxy-mode userspace`,
  );
}
