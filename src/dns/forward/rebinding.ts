// Protection against DNS rebinding: a public name that resolves to an address of the client's own network lets a web page
// reach servers that trust that network.
import { contains, parseCidr } from '../../api/addresses.ts';
import { extendedErrors, types } from '../../dnswire/codes.ts';
import type { RawRecord } from '../../dnswire/record.ts';
import { loopbackRanges, privateRanges } from './policy.ts';
import type { UpstreamAnswer } from '../resolver.ts';

const privateNetworks = ['0.0.0.0/8', 'fec0::/10', ...loopbackRanges, ...privateRanges].flatMap(
  (text) => parseCidr(text) ?? [],
);

/** Prefixes of IPv6 addresses that embed an IPv4 address, and its offset: compatible, mapped, NAT64 and 6to4. */
const embeddings = [
  { prefix: Buffer.alloc(12), at: 12 },
  { prefix: Buffer.from('00000000000000000000ffff', 'hex'), at: 12 },
  { prefix: Buffer.from('0064ff9b0000000000000000', 'hex'), at: 12 },
  { prefix: Buffer.from('2002', 'hex'), at: 2 },
];

/** SvcParamKeys with addresses (RFC 9460 §14.3.2). */
const hintKeys = { ipv4hint: 4, ipv6hint: 6 } as const;
const serviceTypes: ReadonlySet<number> = new Set([types.SVCB, types.HTTPS]);

/** Removes records with private, loopback or link-local addresses. */
export function withoutPrivateAddresses(answer: UpstreamAnswer): UpstreamAnswer {
  const answers = answer.answers.filter((record) => !hasPrivateAddress(record));
  if (answers.length === answer.answers.length) return answer;
  // The signatures do not cover the remaining records.
  const { authentic: _, ...rest } = answer;
  const problem = { code: extendedErrors.BLOCKED, text: 'the upstream returned a private address' };
  return { ...rest, answers, problem };
}

function hasPrivateAddress({ type, data }: RawRecord): boolean {
  if (type === types.A || type === types.AAAA) return isPrivate(data);
  return serviceTypes.has(type) && hintedAddresses(data).some(isPrivate);
}

/** Whether 4 or 16 bytes are such an address, or an IPv6 address that embeds one. */
function isPrivate(bytes: Uint8Array): boolean {
  const family = bytes.length === 4 ? 'IPv4' : 'IPv6';
  const value = bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  if (privateNetworks.some((range) => contains(range, { family, value }))) return true;
  const embedding = embeddings.find(
    ({ prefix }) => family === 'IPv6' && prefix.every((byte, at) => bytes[at] === byte),
  );
  return embedding !== undefined && isPrivate(bytes.subarray(embedding.at, embedding.at + 4));
}

/** The addresses in the hints of an SVCB or HTTPS record; none if it is malformed. */
function hintedAddresses(data: Uint8Array): readonly Uint8Array[] {
  const found: Uint8Array[] = [];
  let at = 2;
  // The target name is not compressed.
  for (let size = data[at] ?? 0; size !== 0; size = data[at] ?? 0) at += size + 1;
  for (at += 1; at + 4 <= data.length;) {
    const key = uint16(data, at);
    const end = at + 4 + uint16(data, at + 2);
    const width = key === hintKeys.ipv4hint ? 4 : key === hintKeys.ipv6hint ? 16 : 0;
    for (let from = at + 4; width > 0 && from + width <= Math.min(end, data.length); from += width) {
      found.push(data.subarray(from, from + width));
    }
    at = end;
  }
  return found;
}

const uint16 = (data: Uint8Array, at: number): number => ((data[at] ?? 0) << 8) | (data[at + 1] ?? 0);
