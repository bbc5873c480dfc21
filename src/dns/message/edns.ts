// What a reply owes to the OPT record of its query: how large it may be, and which options it brings.
import type { Edns, EdnsOption } from '../../dnswire/message.ts';
import { optionCodes } from '../../dnswire/codes.ts';
import { concat, uint16s } from '../../dnswire/record.ts';
import { maxMessageBytes } from '../../dnswire/writer.ts';
import type { ExtendedError } from './reply.ts';

/** How large a datagram anybody can take (RFC 1035 §2.3.4). */
const plainUdpBytes = 512;
/** How large a datagram may be without falling to pieces on most paths (DNS flag day 2020). */
const largestUdpBytes = 1232;

export interface EdnsSettings {
  /** No datagram is larger, whatever the client says; 1232 by default. */
  readonly maxUdpBytes?: number;
  /** Tells replicas apart, for those who ask (RFC 5001). */
  readonly nsid?: Uint8Array;
  /** How long an idle TCP connection is kept, told to those who ask (RFC 7828). */
  readonly keepaliveMs?: number;
}

/** How long the reply may be. */
export function replyLimit(edns: Edns | undefined, protocol: 'udp' | 'tcp', settings: EdnsSettings): number {
  if (protocol === 'tcp') return maxMessageBytes;
  if (edns === undefined) return plainUdpBytes;
  return Math.max(plainUdpBytes, Math.min(edns.size, settings.maxUdpBytes ?? largestUdpBytes));
}

/** What goes into the OPT record of a reply. */
export interface EdnsReply {
  readonly protocol: 'udp' | 'tcp';
  readonly rcode: number;
  readonly cookie?: Uint8Array | undefined;
  readonly error?: ExtendedError | undefined;
}

/** The OPT record of a reply; there is one only if the query had one (RFC 6891 §6.1.1). */
export function replyEdns(edns: Edns | undefined, reply: EdnsReply, settings: EdnsSettings): Edns | undefined {
  if (edns === undefined) return undefined;
  return {
    version: 0,
    size: settings.maxUdpBytes ?? largestUdpBytes,
    dnssecOk: edns.dnssecOk,
    extendedRcode: reply.rcode >> 4,
    options: [...optionsOf(edns, reply, settings)],
  };
}

/** Options are made, never echoed: a copy of what came would claim that we understood it. */
function* optionsOf(edns: Edns, { protocol, cookie, error }: EdnsReply, settings: EdnsSettings): Iterable<EdnsOption> {
  const asks = (code: number): boolean => edns.options.some((option) => option.code === code);
  if (cookie !== undefined) yield { code: optionCodes.COOKIE, data: cookie };
  if (settings.nsid !== undefined && asks(optionCodes.NSID)) yield { code: optionCodes.NSID, data: settings.nsid };
  if (settings.keepaliveMs !== undefined && protocol === 'tcp' && asks(optionCodes.KEEPALIVE)) {
    yield { code: optionCodes.KEEPALIVE, data: uint16s(Math.min(0xffff, Math.round(settings.keepaliveMs / 100))) };
  }
  if (error !== undefined) {
    yield { code: optionCodes.ERROR, data: concat([uint16s(error.code), Buffer.from(error.text ?? '')]) };
  }
}

/** How many bytes an OPT record takes. */
export const ednsBytes = (edns: Edns | undefined): number =>
  edns === undefined ? 0 : edns.options.reduce((sum, { data }) => sum + 4 + data.length, 11);

/** The OPT record with as many of its options, the first ones, as fit in so many bytes. */
export function fittingEdns(edns: Edns | undefined, bytes: number): Edns | undefined {
  if (edns === undefined || ednsBytes(edns) <= bytes || edns.options.length === 0) return edns;
  return fittingEdns({ ...edns, options: edns.options.slice(0, -1) }, bytes);
}
