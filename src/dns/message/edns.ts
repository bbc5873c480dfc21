// The size limit of a reply and its OPT record.
import type { Edns, EdnsOption } from '../../dnswire/message.ts';
import { optionCodes } from '../../dnswire/codes.ts';
import { concat, uint16s } from '../../dnswire/record.ts';
import { maxMessageBytes } from '../../dnswire/writer.ts';
import type { ExtendedError } from './reply.ts';

/** The UDP limit without EDNS (RFC 1035 §2.3.4). */
const plainUdpBytes = 512;
/** The UDP limit that avoids fragmentation on most paths (DNS flag day 2020). */
const largestUdpBytes = 1232;

/** The size limit of the reply. */
export function replyLimit(edns: Edns | undefined, protocol: 'udp' | 'tcp'): number {
  if (protocol === 'tcp') return maxMessageBytes;
  if (edns === undefined) return plainUdpBytes;
  return Math.max(plainUdpBytes, Math.min(edns.size, largestUdpBytes));
}

/** The contents of a reply's OPT record. */
export interface EdnsReply {
  readonly rcode: number;
  readonly cookie?: Uint8Array | undefined;
  readonly error?: ExtendedError | undefined;
}

/** The OPT record of a reply; only if the query has one (RFC 6891 §6.1.1). */
export function replyEdns(edns: Edns | undefined, reply: EdnsReply): Edns | undefined {
  if (edns === undefined) return undefined;
  return {
    version: 0,
    size: largestUdpBytes,
    dnssecOk: edns.dnssecOk,
    extendedRcode: reply.rcode >> 4,
    options: [...optionsOf(reply)],
  };
}

/** Options are created, never echoed: an echo would claim support. */
function* optionsOf({ cookie, error }: EdnsReply): Iterable<EdnsOption> {
  if (cookie !== undefined) yield { code: optionCodes.COOKIE, data: cookie };
  if (error !== undefined) {
    yield { code: optionCodes.ERROR, data: concat([uint16s(error.code), Buffer.from(error.text ?? '')]) };
  }
}

/** The encoded size of an OPT record. */
export const ednsBytes = (edns: Edns | undefined): number =>
  edns === undefined ? 0 : edns.options.reduce((sum, { data }) => sum + 4 + data.length, 11);

/** The OPT record with as many of its first options as fit. */
export function fittingEdns(edns: Edns | undefined, bytes: number): Edns | undefined {
  if (edns === undefined || ednsBytes(edns) <= bytes || edns.options.length === 0) return edns;
  return fittingEdns({ ...edns, options: edns.options.slice(0, -1) }, bytes);
}
