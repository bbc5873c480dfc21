// Chains that verdict maps jump to: one for each protocol and number of targets that occurs, none for a single Service.
import type { IpFamily } from '../../api/addresses.ts';

/** Protocol names of nft. */
export type LayerFour = 'tcp' | 'udp' | 'sctp';

/** The first slot for clients on this node, in the maps that hold the slots for all clients. */
export const nearOffset = 32_768;

/** A chain that is added when it is first needed. */
export type Chain =
  | {
      /** `pick` draws a target; `sticky` tries session affinity first. */
      readonly type: 'pick' | 'sticky';
      readonly protocol: LayerFour;
      /** The number of slots. */
      readonly count: number;
      readonly isNear: boolean;
      readonly masquerades: boolean;
    }
  /** Stores the affinity of a client and forwards it. */
  | { readonly type: 'affinity'; readonly protocol: LayerFour; readonly seconds: number };

/** The name of a chain, which encodes all its settings. */
export function chainName(chain: Chain): string {
  if (chain.type === 'affinity') return `affinity-${chain.protocol}-${chain.seconds}`;
  const { type, protocol, count, isNear, masquerades } = chain;
  return `${type}-${protocol}-${count}${isNear ? '-near' : ''}${masquerades ? '-masq' : ''}`;
}

const chainPattern = /^(pick|sticky|affinity)-(tcp|udp|sctp)-(\d+)(-near)?(-masq)?$/;

/** The chain with a name; undefined for other names. */
export function chainOf(name: string): Chain | undefined {
  const [, type, protocol, number, near, masq] = chainPattern.exec(name) ?? [];
  if (type === undefined || (protocol !== 'tcp' && protocol !== 'udp' && protocol !== 'sctp')) return undefined;
  if (type === 'affinity') return { type, protocol, seconds: Number(number) };
  if (type !== 'pick' && type !== 'sticky') return undefined;
  return { type, protocol, count: Number(number), isNear: near !== undefined, masquerades: masq !== undefined };
}

/** The bit of the packet mark that requests masquerading in postrouting, as kube-proxy's. */
export const masqueradeMark = '0x4000';

/** The rules of a chain. */
export function chainRules(chain: Chain, family: IpFamily): readonly string[] {
  const { protocol } = chain;
  const ip = family === 'IPv4' ? 'ip' : 'ip6';
  const front = `${ip} daddr . meta l4proto . ${protocol} dport`;
  const client = pinKey(family, protocol);
  const toId = `meta l4proto ${protocol} dnat to ${ip} daddr . ${protocol} dport . meta priority map @ids-${protocol}`;
  if (chain.type === 'affinity') {
    return [`update @affinity-${protocol} { ${client} timeout ${chain.seconds}s : meta priority }`, toId];
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
    // The packet's priority passes a number between rules, because other programs use marks. Postrouting resets it. No target
    // has the id 0.
    'meta priority set 0',
    `meta priority set ${client} map @affinity-${protocol}`,
    alive,
    `meta priority set ${front} . ${draw} map @draw`,
    // `update` would only refresh the timeout of an existing entry, not its value.
    `delete @affinity-${protocol} { ${client} : meta priority }`,
    alive,
    toId,
  ];
}

/**
 * The affinity key of a client: its address and the frontend. nft 1.0.6 aborts on keys as long as those of IPv6, so they are two
 * hashes, 64 bits. Clients whose hashes collide share a target, which is harmless.
 */
function pinKey(family: IpFamily, protocol: LayerFour): string {
  if (family === 'IPv4') return `ip saddr . ip daddr . ${protocol} dport`;
  const half = (seed: string): string => `jhash ip6 saddr . ip6 daddr . ${protocol} dport mod 0xffffffff seed ${seed}`;
  return `${half('0x46616972')} . ${half('0x6c656164')}`;
}

/** The declared type of `pinKey`. nft 1.0.6 crashes when it lists a map whose key is declared as a hash. */
export const pinKeyType = (family: IpFamily, protocol: LayerFour): string =>
  family === 'IPv4' ? pinKey(family, protocol) : 'numgen random mod 65536 . numgen random mod 65536';
