// Chains that verdicts lead to: one for each protocol and number of targets that occurs, never one for a Service.
import type { IpFamily } from '../../api/addresses.ts';

/** Protocols as nft writes them. */
export type LayerFour = 'tcp' | 'udp' | 'sctp';

/** Where the slots of clients on this node begin, in the same maps as everybody's. */
export const nearOffset = 32_768;

/** A chain that is made when it is first needed. */
export type Chain =
  | {
      /** `pick` draws a target; `sticky` first looks where the client was. */
      readonly type: 'pick' | 'sticky';
      readonly protocol: LayerFour;
      /** How many slots are drawn from. */
      readonly count: number;
      readonly isNear: boolean;
      readonly masquerades: boolean;
    }
  /** Remembers where a client goes, and sends it there. */
  | { readonly type: 'pin'; readonly protocol: LayerFour; readonly seconds: number };

/** The name of a chain; it says all there is to know about it. */
export function chainName(chain: Chain): string {
  if (chain.type === 'pin') return `pin-${chain.protocol}-${chain.seconds}`;
  const { type, protocol, count, isNear, masquerades } = chain;
  return `${type}-${protocol}-${count}${isNear ? '-near' : ''}${masquerades ? '-masq' : ''}`;
}

const chainPattern = /^(pick|sticky|pin)-(tcp|udp|sctp)-(\d+)(-near)?(-masq)?$/;

/** The chain of a name; undefined if it is not one of these. */
export function chainOf(name: string): Chain | undefined {
  const [, type, protocol, number, near, masq] = chainPattern.exec(name) ?? [];
  if (type === undefined || (protocol !== 'tcp' && protocol !== 'udp' && protocol !== 'sctp')) return undefined;
  if (type === 'pin') return { type, protocol, seconds: Number(number) };
  if (type !== 'pick' && type !== 'sticky') return undefined;
  return { type, protocol, count: Number(number), isNear: near !== undefined, masquerades: masq !== undefined };
}

/** The bit of the packet mark that asks for masquerading on the way out. Private, as in kube-proxy. */
export const masqueradeMark = '0x4000';

/** The rules of a chain, without the `add rule` before them. */
export function chainRules(chain: Chain, family: IpFamily): readonly string[] {
  const { protocol } = chain;
  const ip = family === 'IPv4' ? 'ip' : 'ip6';
  const front = `${ip} daddr . meta l4proto . ${protocol} dport`;
  const client = pinKey(family, protocol);
  const toId = `meta l4proto ${protocol} dnat to ${ip} daddr . ${protocol} dport . meta priority map @ids-${protocol}`;
  if (chain.type === 'pin') {
    return [`update @pins-${protocol} { ${client} timeout ${chain.seconds}s : meta priority }`, toId];
  }
  const { count, isNear, masquerades } = chain;
  const draw = `numgen random mod ${count}${isNear ? ` offset ${nearOffset}` : ''}`;
  const mark = masquerades ? [`meta mark set meta mark or ${masqueradeMark}`] : [];
  if (chain.type === 'pick') {
    return [
      ...mark,
      `meta l4proto ${protocol} dnat to ${ip} daddr . ${protocol} dport . ${draw} map @slots-${protocol}`,
    ];
  }
  const alive = `${front} . meta priority vmap @alive${isNear ? '-near' : ''}`;
  return [
    ...mark,
    // The packet's priority is where a number can be kept between rules, and nobody else keeps one there: marks are
    // other people's. It is set back on the way out. No target has the id 0.
    'meta priority set 0',
    `meta priority set ${client} map @pins-${protocol}`,
    alive,
    `meta priority set ${front} . ${draw} map @draw`,
    // An entry that exists would keep its value: `update` changes only its time.
    `delete @pins-${protocol} { ${client} : meta priority }`,
    alive,
    toId,
  ];
}

/**
 * By what a client is remembered: its address and the frontend. Those of IPv6 are too long to be kept whole by nft 1.0.6,
 * which aborts; two hashes, 64 bits, stand for them. Two that collide share a target, which harms nobody.
 */
function pinKey(family: IpFamily, protocol: LayerFour): string {
  if (family === 'IPv4') return `ip saddr . ip daddr . ${protocol} dport`;
  const half = (seed: string): string => `jhash ip6 saddr . ip6 daddr . ${protocol} dport mod 0xffffffff seed ${seed}`;
  return `${half('0x46616972')} . ${half('0x6c656164')}`;
}

/** The type of `pinKey`, as a declaration. nft 1.0.6 crashes when it lists a map whose key is declared as a hash. */
export const pinKeyType = (family: IpFamily, protocol: LayerFour): string =>
  family === 'IPv4' ? pinKey(family, protocol) : 'numgen random mod 65536 . numgen random mod 65536';
