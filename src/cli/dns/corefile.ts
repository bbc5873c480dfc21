// Translates a Corefile, CoreDNS's configuration, to our options.
import { canonicalCidr, joinHostPort, parseCidr } from '../../api/addresses.ts';
import type { Settings } from '../options/flags.ts';
import type { Directive, ServerBlock } from './corefile-blocks.ts';
import { readBlocks } from './corefile-blocks.ts';

/** A line of a Corefile that has no equivalent option. */
export interface Note {
  readonly line: number;
  readonly text: string;
}

/** A Corefile as options. */
export interface CorefileImport {
  readonly settings: Settings;
  readonly notes: readonly Note[];
}

/** Translates one directive. `zones` are those of its server block, without the root. */
type Reader = (draft: Draft, directive: Directive, zones: readonly string[]) => void;

/** Parses a Corefile. Throws `UsageError` with the line if it is malformed; adds a note for each unsupported directive. */
export function readCorefile(text: string): CorefileImport {
  const draft = new Draft();
  for (const block of readBlocks(text)) readServer(draft, block);
  return draft;
}

class Draft implements CorefileImport {
  readonly settings = new Map<string, readonly string[]>();
  readonly notes: Note[] = [];

  set(name: string, value: string): void {
    this.settings.set(name, [value]);
  }

  add(name: string, value: string): void {
    this.settings.set(name, [...(this.settings.get(name) ?? []), value]);
  }

  /** Sets an option that two directives may set: the first value wins. */
  setOnce(name: string, value: string, line: number): void {
    const before = this.settings.get(name)?.[0];
    if (before === undefined) this.set(name, value);
    else if (before !== value) this.note(line, `${name} is already "${before}": ignored "${value}"`);
  }

  note(line: number, text: string): void {
    this.notes.push({ line, text });
  }
}

function readServer(draft: Draft, { line, zones, directives }: ServerBlock): void {
  const names: string[] = [];
  for (const zone of zones) {
    const [, scheme = 'dns', name = '', port = '53'] = /^(?:(\w+):\/\/)?([^:]*)(?::(\d+))?$/.exec(zone) ?? [];
    if (scheme !== 'dns') draft.note(line, `${scheme}:// is not served: only DNS over UDP and TCP`);
    if (port !== '53' || draft.settings.has('listen')) addListen(draft, `:${port}`);
    if (name !== '.' && name !== '') names.push(name.replace(/\.$/, ''));
  }
  for (const directive of directives) {
    const read = readers.get(directive.name);
    if (read !== undefined) read(draft, directive, names);
    else if (!builtIn.has(directive.name)) draft.note(directive.line, `${directive.name} is not supported: ignored`);
  }
}

function addListen(draft: Draft, address: string): void {
  if (draft.settings.get('listen')?.includes(address) !== true) draft.add('listen', address);
}

/** Directives whose behaviour is built in. */
const builtIn = new Set(['errors', 'loop', 'reload', 'loadbalance', 'minimal', 'any', 'bufsize', 'cancel', 'nsid']);

const isReverse = (zone: string): boolean => /(^|\.)(in-addr|ip6)\.arpa\.?$/.test(zone) || zone.includes('/');

const kubernetes: Reader = (draft, { line, args, block }, zones) => {
  const served = args.length > 0 ? args : zones;
  const multicluster = block.filter(({ name }) => name === 'multicluster').flatMap((each) => each.args);
  const own = served.filter((zone) => !isReverse(zone) && !multicluster.includes(zone));
  const [first, ...others] = own;
  if (first !== undefined) draft.setOnce('cluster-domain', first.replace(/\.$/, ''), line);
  for (const zone of others) draft.note(line, `only one cluster domain is supported: ignored "${zone}"`);
  readReverseZones(draft, line, served.filter(isReverse));
  for (const option of block) readKubernetesOption(draft, option);
};

/** Without ranges `in-addr.arpa` and `ip6.arpa` are served as a whole, which is the default. */
function readReverseZones(draft: Draft, line: number, zones: readonly string[]): void {
  const narrow = zones.filter((zone) => !/^(in-addr|ip6)\.arpa\.?$/.test(zone));
  const ranges = narrow.flatMap((zone) => {
    const range = zone.includes('/') ? (parseCidr(zone) === undefined ? undefined : zone) : reverseRange(zone);
    if (range === undefined) draft.note(line, `"${zone}" is not a reverse zone: ignored`);
    return range ?? [];
  });
  if (ranges.length > 0 && narrow.length === zones.length) draft.set('reverse-zones', ranges.join(','));
}

/** Option of the kubernetes plugin → name and value of ours. */
const plainKubernetesOptions = new Map(
  Object.entries<(args: readonly string[]) => readonly [string, string]>({
    pods: ([mode = 'disabled']) => ['pods', mode],
    ttl: ([seconds = '5']) => ['ttl', seconds],
    endpoint_pod_names: () => ['endpoint-pod-names', 'true'],
    namespaces: (args) => ['namespaces', args.join(',')],
    noendpoints: () => ['no-endpoints', 'true'],
    zonal: () => ['zonal', 'true'],
    multicluster: ([zone = 'clusterset.local']) => ['clusterset-domain', zone.replace(/\.$/, '')],
  }),
);

function readKubernetesOption(draft: Draft, { name, args, line }: Directive): void {
  const plain = plainKubernetesOptions.get(name);
  if (plain !== undefined) return draft.set(...plain(args));
  if (name === 'ignore' && args[0] === 'empty_service') return draft.set('ignore-empty-service', 'true');
  if (name === 'fallthrough' || name === 'startup_timeout') return;
  if (name === 'kubeconfig') return draft.note(line, `pass --kubeconfig ${args[0] ?? 'FILE'} to the command`);
  draft.note(line, `kubernetes ${name} is not supported: ignored`);
}

const forward: Reader = (draft, { line, args, block }, zones) => {
  const [from = '.', ...to] = args;
  const servers = to.flatMap((server) => readUpstream(draft, line, server));
  const targets = from === '.' ? zones : [from.replace(/\.$/, '')];
  const isSystem = to.includes('/etc/resolv.conf');
  if (targets.length === 0 && servers.length > 0) draft.setOnce('upstream', servers.join(','), line);
  if (targets.length > 0 && isSystem) draft.note(line, '/etc/resolv.conf for a single zone is the default: ignored');
  if (servers.length > 0) for (const zone of targets) draft.add('stub-zone', `${zone}=${servers.join(',')}`);
  for (const option of block) readForwardOption(draft, option);
};

function readUpstream(draft: Draft, line: number, text: string): readonly string[] {
  if (text === '/etc/resolv.conf') return [];
  const [, scheme = 'dns', address = text] = /^(\w+):\/\/(.+)$/.exec(text) ?? [];
  if (scheme === 'dns') return [address];
  draft.note(line, `upstreams are queried over UDP and TCP, not ${scheme}: ignored "${text}"`);
  return [];
}

/** Options without an equivalent: upstreams are selected by their response times. */
const ignoredForwardOptions = new Set([
  'policy',
  'health_check',
  'max_fails',
  'expire',
  'prefer_udp',
  'failover',
  'next',
]);

function readForwardOption(draft: Draft, { name, args, line }: Directive): void {
  if (name === 'max_concurrent') draft.set('forward-max-concurrent', args[0] ?? '1000');
  else if (name === 'force_tcp') draft.set('upstream-tcp', 'true');
  else if (!ignoredForwardOptions.has(name)) draft.note(line, `forward ${name} is not supported: ignored`);
}

const cache: Reader = (draft, { args, block, line }, zones) => {
  // There is one cache for all zones, and the options of the root zone take precedence.
  if (zones.length > 0 && draft.settings.has('cache-max-ttl')) return;
  const [ttl] = args;
  if (ttl !== undefined && /^\d+$/.test(ttl)) {
    draft.set('cache-max-ttl', ttl);
    draft.set('cache-max-negative-ttl', ttl);
  }
  for (const option of block) readCacheOption(draft, option, line);
};

function readCacheOption(draft: Draft, { name, args, line }: Directive, cacheLine: number): void {
  const [first, ttl, least] = args;
  if (name === 'success' || name === 'denial') {
    if (first !== undefined) draft.setOnce('cache-entries', first, cacheLine);
    if (ttl !== undefined) draft.set(name === 'success' ? 'cache-max-ttl' : 'cache-max-negative-ttl', ttl);
    if (least !== undefined && name === 'success') draft.set('cache-min-ttl', least);
  } else if (name === 'serve_stale') draft.set('serve-stale', first ?? '1h');
  else if (name === 'disable' && args.length > 1) return; // for our own zones, which are not cached
  else if (name !== 'prefetch' && name !== 'servfail' && name !== 'keepttl') {
    draft.note(line, `cache ${name} is not supported: ignored`);
  }
}

/** The address of a plugin; `fallback` is its default in CoreDNS. */
const listenAddress =
  (setting: string, fallback: string): Reader =>
  (draft, { args, block }) => {
    const [address = fallback] = args;
    draft.set(setting, address.replace(/^localhost:/, '127.0.0.1:'));
    const lameduck = block.find(({ name }) => name === 'lameduck')?.args[0];
    if (lameduck !== undefined) draft.set('lameduck', lameduck);
  };

const transfer: Reader = (draft, { block, line }) => {
  const to = block.filter(({ name }) => name === 'to').flatMap(({ args }) => args);
  const ranges = to.flatMap((text) => (text === '*' ? ['0.0.0.0/0', '::/0'] : [text.replace(/:\d+$/, '')]));
  if (ranges.length > 0) draft.set('transfer-to', ranges.join(','));
  else draft.note(line, 'transfer without "to" allows no client: ignored');
};

const bind: Reader = (draft, { args, line }) => {
  const port = draft.settings.get('listen')?.[0]?.replace(/^.*:/, '') ?? '53';
  const addresses = args.filter((text) => /[.:]/.test(text));
  if (addresses.length < args.length) draft.note(line, 'bind supports addresses only: ignored interfaces');
  const places = addresses.map((address) => joinHostPort(address, port));
  if (places.length > 0) draft.settings.set('listen', places);
};

const readers: ReadonlyMap<string, Reader> = new Map(
  Object.entries<Reader>({
    kubernetes,
    forward,
    cache,
    transfer,
    bind,
    health: listenAddress('health-listen', ':8080'),
    ready: listenAddress('ready-listen', ':8181'),
    prometheus: listenAddress('metrics-listen', 'localhost:9153'),
    autopath: (draft) => draft.set('search-completion', 'true'),
    log: (draft, { line }) => draft.note(line, 'queries are not logged: metrics count them'),
    template: (draft, { line, args }) =>
      draft.note(line, `template is not supported: ignored${args.includes('AAAA') ? ', see filter-aaaa' : ''}`),
  }),
);

/** The CIDR of a reverse zone: 10.0.0.0/8 for `10.in-addr.arpa`; undefined if it is not one. */
export function reverseRange(zone: string): string | undefined {
  const [, labels = '', family] = /^(.*)\.(in-addr|ip6)\.arpa\.?$/i.exec(zone) ?? [];
  const parts = labels.split('.').toReversed();
  if (family === undefined) return undefined;
  return family.toLowerCase() === 'ip6' ? ipv6Range(parts) : ipv4Range(parts);
}

function ipv4Range(bytes: readonly string[]): string | undefined {
  if (bytes.length > 4 || bytes.some((byte) => !/^\d{1,3}$/.test(byte))) return undefined;
  return canonicalCidr(`${[...bytes, '0', '0', '0'].slice(0, 4).join('.')}/${8 * bytes.length}`);
}

function ipv6Range(nibbles: readonly string[]): string | undefined {
  if (nibbles.length > 32 || nibbles.some((nibble) => !/^[0-9a-f]$/i.test(nibble))) return undefined;
  const all = nibbles.join('').padEnd(32, '0');
  return canonicalCidr(`${all.match(/.{4}/g)?.join(':') ?? ''}/${4 * nibbles.length}`);
}
