// The fixed part of a family's table: sets, maps and base chains. Only elements of sets and maps depend on Services.
import type { IpFamily } from '../../api/addresses.ts';
import { parseCidr, printCidr } from '../../api/addresses.ts';
import { knowsPods } from '../routes/decide.ts';
import type { NodeNetwork } from '../routes/route.ts';
import { disjoint } from '../routes/source-ranges.ts';
import type { LayerFour } from './chains.ts';
import { masqueradeMark, pinKeyType } from './chains.ts';

/** The family name of nft. */
export const nftFamily = (family: IpFamily): 'ip' | 'ip6' => (family === 'IPv4' ? 'ip' : 'ip6');

const protocols: readonly LayerFour[] = ['tcp', 'udp', 'sctp'];
/** Determines the type of a key; a frontend has fewer slots. */
const anySlot = 'numgen random mod 65536';
/** Affinity entries of all frontends of a protocol; further clients have no affinity. */
const maxAffinityEntries = 262_144;

/** A declared set or map. */
interface Declared {
  readonly name: string;
  readonly kind: 'set' | 'map';
  readonly declaration: string;
  /** Kept over a reload: the kernel adds its elements. */
  readonly isDynamic?: boolean;
}

function declaredSets(family: IpFamily): readonly Declared[] {
  const ip = nftFamily(family);
  const address = family === 'IPv4' ? 'ipv4_addr' : 'ipv6_addr';
  const front = `${address} . inet_proto . inet_service`;
  const set = (name: string, type: string): Declared => ({ name, kind: 'set', declaration: `type ${type} ;` });
  const map = (name: string, type: string): Declared => ({ name, kind: 'map', declaration: `type ${type} ;` });
  const typed = (name: string, of: string): Declared => ({ name, kind: 'map', declaration: `typeof ${of} ;` });
  return [
    set('cluster-ips', address),
    set('sticky-ips', address),
    set('hairpin', `${address} . ${address}`),
    set('pods', `${address} ; flags interval`),
    set('service-ranges', `${address} ; flags interval`),
    set('restricted', front),
    set('allowed', `${front} . ${address} ; flags interval`),
    ...['services', 'near-pods', 'near-node', 'refused', 'refused-near'].map((name) => map(name, `${front} : verdict`)),
    ...['alive', 'alive-near'].map((name) => map(name, `${front} . classid : verdict`)),
    typed('draw', `${ip} daddr . meta l4proto . tcp dport . ${anySlot} : meta priority`),
    ...protocols.flatMap((protocol) => [
      // nft 1.0.6 rejects a map for ports of several protocols, hence one for each.
      typed(`slots-${protocol}`, `${ip} daddr . ${protocol} dport . ${anySlot} : ${ip} daddr . ${protocol} dport`),
      map(`ids-${protocol}`, `${address} . inet_service . classid : ${address} . inet_service`),
      {
        name: `affinity-${protocol}`,
        kind: 'map' as const,
        declaration: `typeof ${pinKeyType(family, protocol)} : meta priority ; size ${maxAffinityEntries} ; flags dynamic,timeout ;`,
        isDynamic: true,
      },
    ]),
  ];
}

/** A chain and its rules. Base chains have a hook. */
interface DeclaredChain {
  readonly name: string;
  readonly hook?: string;
  readonly rules: readonly string[];
}

function declaredChains(family: IpFamily, network: NodeNetwork): readonly DeclaredChain[] {
  const ip = nftFamily(family);
  const front = `${ip} daddr . meta l4proto . th dport`;
  const admit = { rules: ['ct state new jump admit'] };
  const undefinedPorts = { rules: ['ct state new jump undefined'] };
  const filter = (hook: string, priority: number): string => `type filter hook ${hook} priority ${priority} ;`;
  const nat = (hook: string, priority: number): string => `type nat hook ${hook} priority ${priority} ;`;
  return [
    // Targets of jumps must come first.
    { name: 'refuse', rules: ['meta l4proto tcp reject with tcp reset', 'reject'] },
    // Before translation: disallowed sources, and frontends without endpoints.
    { name: 'admit-near', rules: [`${front} vmap @refused-near`, `${front} vmap @refused`] },
    {
      name: 'admit',
      rules: [
        `${front} @restricted ${front} . ${ip} saddr != @allowed drop`,
        `${ip} saddr @pods goto admit-near`,
        'fib saddr type local goto admit-near',
        `${front} vmap @refused`,
      ],
    },
    // A packet that is still addressed to a cluster IP after translation has an undefined port.
    { name: 'undefined', rules: [`${ip} daddr @cluster-ips goto refuse`, `${ip} daddr @service-ranges drop`] },
    {
      name: 'translate',
      rules: [
        ...clusterMasquerade(family, network),
        `${ip} saddr @pods ${front} vmap @near-pods`,
        `fib saddr type local ${front} vmap @near-node`,
        `${front} vmap @services`,
      ],
    },
    { name: 'filter-before-prerouting', hook: filter('prerouting', -110), ...admit },
    { name: 'filter-before-output', hook: filter('output', -110), ...admit },
    { name: 'filter-input', hook: filter('input', 0), ...undefinedPorts },
    { name: 'filter-forward', hook: filter('forward', 0), ...undefinedPorts },
    { name: 'filter-output', hook: filter('output', 0), ...undefinedPorts },
    { name: 'nat-prerouting', hook: nat('prerouting', -100), rules: ['jump translate'] },
    { name: 'nat-output', hook: nat('output', -100), rules: ['jump translate'] },
    {
      name: 'nat-postrouting',
      hook: nat('postrouting', 100),
      rules: [
        `ct status dnat ct original ${ip} daddr @sticky-ips meta priority set 0`,
        `meta mark and ${masqueradeMark} == ${masqueradeMark} meta mark set meta mark xor ${masqueradeMark} masquerade fully-random`,
        // Hairpin: an endpoint that connects to itself must not see its own address as its peer's.
        `ct status dnat ${ip} saddr . ${ip} daddr @hairpin masquerade fully-random`,
      ],
    },
  ];
}

/** Masquerades clients outside this node that use cluster IPs, because endpoints could not reply to them past this node. */
function clusterMasquerade(family: IpFamily, network: NodeNetwork): readonly string[] {
  const ip = nftFamily(family);
  const mark = `${ip} daddr @cluster-ips meta mark set meta mark or ${masqueradeMark}`;
  if (network.masqueradeAll) return [mark];
  return knowsPods(network, family) ? [`${ip} saddr != @pods ${mark}`] : [];
}

/** The commands that create the fixed part, or empty an existing one. */
export function skeleton(table: string, family: IpFamily, network: NodeNetwork): readonly string[] {
  const of = `${nftFamily(family)} ${table}`;
  const sets = declaredSets(family);
  const chains = declaredChains(family, network);
  return [
    `add table ${of}`,
    ...sets.map(({ kind, name, declaration }) => `add ${kind} ${of} ${name} { ${declaration} }`),
    ...sets.filter(({ isDynamic }) => isDynamic !== true).map(({ kind, name }) => `flush ${kind} ${of} ${name}`),
    ...chains.flatMap(({ name, hook }) => [
      `add chain ${of} ${name}${hook === undefined ? '' : ` { ${hook} policy accept ; }`}`,
      `flush chain ${of} ${name}`,
    ]),
    ...chains.flatMap(({ name, rules }) => rules.map((rule) => `add rule ${of} ${name} ${rule}`)),
    ...ranges(of, 'pods', network.podRanges, family),
    ...ranges(of, 'service-ranges', network.serviceRanges, family),
  ];
}

function ranges(of: string, set: string, texts: readonly string[], family: IpFamily): readonly string[] {
  const own = texts.flatMap((text) => parseCidr(text) ?? []).filter((range) => range.family === family);
  if (own.length === 0) return [];
  return [`add element ${of} ${set} { ${disjoint(own).map(printCidr).join(', ')} }`];
}
