import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';

// Holds the lines that no compiler holds: which folder may import which, what files are called, what is documented.

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Folder of src → the folders it may import besides itself. A folder that is not here is a part. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  machine: [],
  metrics: [],
  dnswire: [],
  streams: ['machine'],
  api: [],
  store: ['api', 'machine'],
  server: ['api', 'machine', 'metrics', 'store', 'streams'],
  client: ['api', 'machine', 'metrics'],
};
const partMayImport = ['api', 'client', 'dnswire', 'machine', 'metrics', 'streams'];
/** Part → sub-folder → the sub-folders it may import. What several of them exchange is a file of the part itself. */
const subfoldersMayImport: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  agent: {
    environment: [],
    processes: [],
    probes: [],
    network: [],
    volumes: ['environment'],
    node: ['processes'],
    sandbox: ['environment', 'processes'],
    pods: ['environment', 'probes', 'processes', 'sandbox', 'volumes'],
    api: ['pods'],
    registrations: ['pods', 'probes'],
  },
  controllers: {
    endpoints: [],
    endpointslice: [],
    garbage: [],
    mirroring: [],
    scheduler: [],
    workloads: ['scheduler'],
  },
  dashboard: {
    view: [],
    server: ['view'],
    page: ['view'],
    answers: ['server', 'view'],
    http: ['answers', 'server', 'view'],
  },
  dns: {
    records: [],
    message: [],
    forward: [],
    answer: ['message', 'records'],
    controller: ['records'],
    transport: ['message'],
    explain: ['answer', 'controller', 'message', 'records'],
  },
  loadbalancer: {
    clouds: [],
    controller: ['clouds'],
    health: ['controller'],
    providers: ['clouds', 'controller'],
    gateway: ['providers'],
  },
  multicluster: {
    guard: [],
    merge: [],
    vip: [],
    project: ['guard', 'merge', 'vip'],
    member: ['guard', 'merge', 'project', 'vip'],
    lease: ['member', 'project'],
    reaper: ['lease', 'member', 'project'],
    sync: ['guard', 'lease', 'member', 'merge', 'project', 'vip'],
    explain: ['guard', 'lease', 'member', 'merge', 'project', 'sync', 'vip'],
    objects: ['explain', 'member', 'project'],
    webhook: ['explain', 'member', 'merge', 'project', 'sync'],
  },
  proxy: { routes: [], controller: ['routes'], nftables: ['routes'], userspace: ['routes'] },
  publisher: { plan: [], providers: ['plan'] },
  store: { backup: [], etcd: [], memory: [], sqlite: [] },
};
/** Files directly in src, and the command line, put everything together. */
const mayImportEverything = new Set(['', 'cli']);
/** Tests of a part run it against a real server on the memory store. */
/** The file in which each part exports what it plans and explains, for the command line and the dashboard. */
const inspectionOf = (part: string): string => `${part}/inspect.ts`;
const hasInspection = new Set(['dns', 'proxy', 'loadbalancer', 'multicluster']);
const testsMayImport = ['api', 'client', 'server', 'store'];

const bannedNames = /^(utils?|helpers?|common|misc|types|constants|enums|index)(\.test)?(\.ts)?$/;

interface SourceFile {
  /** Relative to src, with forward slashes. */
  readonly path: string;
  /** Files of src that it imports, types included. */
  readonly imports: readonly string[];
}

const files: readonly SourceFile[] = globSync('**/*.{ts,tsx}', { cwd: `${root}/src` })
  .map((path) => path.replaceAll('\\', '/'))
  .toSorted()
  .map((path) => ({ path, imports: importsIn(readFileSync(`${root}/src/${path}`, 'utf8'), path) }));

/** Static imports, re-exports and dynamic imports of relative paths. */
function importsIn(text: string, path: string): string[] {
  const statements = /(?:\bfrom\s*|\bimport\s*\(\s*|^import\s+)'(\.[^']+)'/gm;
  return Array.from(text.matchAll(statements), ([, target = '']) => posix.join(posix.dirname(path), target));
}

const folderOf = (path: string): string => (path.includes('/') ? (path.split('/', 1)[0] ?? '') : '');
const isInspection = (path: string): boolean =>
  hasInspection.has(folderOf(path)) && path === inspectionOf(folderOf(path));
/** Tests end in `.test.ts`; what only tests use is in a folder called `testing`. */
const isTest = (path: string): boolean => /\.(test|bench)\.ts$|(^|\/)testing\//.test(path);

function allowed(path: string): readonly string[] | 'everything' {
  const folder = folderOf(path);
  if (mayImportEverything.has(folder)) return 'everything';
  const own = mayImport[folder] ?? partMayImport;
  const isPart = !(folder in mayImport) || folder === 'client';
  return isTest(path) && isPart ? [...own, ...testsMayImport] : own;
}

test('only tests import test support', () => {
  const wrong = files.flatMap(({ path, imports }) =>
    isTest(path) ? [] : imports.filter(isTest).map((target) => `${path} imports ${target}`),
  );
  assert.deepEqual(wrong, []);
});

test('imports point one way: api ← store ← server, api ← client ← parts ← cli', () => {
  const wrong = files.flatMap(({ path, imports }) => {
    const folders = allowed(path);
    if (folders === 'everything') return [];
    return imports
      .filter((target) => folderOf(target) !== folderOf(path) && !folders.includes(folderOf(target)))
      .filter((target) => folderOf(path) !== 'dashboard' || !isInspection(target))
      .map((target) => `${path} imports ${target}`);
  });
  assert.deepEqual(wrong, []);
});

test('only the command line and the dashboard import what parts plan and explain, from one file of each part', () => {
  const isOwn = (path: string, target: string): boolean => folderOf(path) === folderOf(target);
  const wrong = files.flatMap(({ path, imports }) =>
    imports
      .filter((target) =>
        ['cli', 'dashboard'].includes(folderOf(path))
          ? /^\w+\/explain\//.test(target)
          : isInspection(target) && !(isOwn(path, target) && isTest(path)),
      )
      .map((target) => `${path} imports ${target}`),
  );
  assert.deepEqual(wrong, []);
  assert.deepEqual(
    [...hasInspection].filter((part) => !files.some(({ path }) => path === inspectionOf(part))),
    [],
  );
});

test('sub-folders of a part import each other in one direction', () => {
  const wrong = files.flatMap(({ path, imports }) => {
    const [part = '', folder = '', file] = path.split('/');
    const rules = subfoldersMayImport[part];
    if (rules === undefined || file === undefined || isTest(path)) return [];
    return imports.filter((target) => {
      const [targetPart, targetFolder = '', targetFile] = target.split('/');
      if (targetPart !== part || targetFile === undefined || targetFolder === folder) return false;
      return rules[folder]?.includes(targetFolder) !== true;
    });
  });
  assert.deepEqual(wrong, []);
});

/** Files and folders of src/server that concern certain kinds. All others read what they need from the `Kind` of a request. */
const concernsKinds: readonly string[] = [
  'aggregation/', // reads and writes APIServices, and finds the endpoints of their Services
  'access/', // authenticates and authorizes with ServiceAccounts, Nodes, Pods, Secrets, roles and bindings
  'admission/', // plugins about Namespaces, Services and Ingresses, and the configuration of webhooks
  'allocate/', // cluster IPs and node ports of Services
  'conversion/', // reads the address of a webhook in its CustomResourceDefinition
  'custom/', // serves what CustomResourceDefinitions define
  'bootstrap/', // creates the objects of a new cluster
  'nodes/', // streams of Pods through their Nodes
  'lifecycle/', // controllers of Namespaces, Events and Pods
  'quota/', // reads and writes ResourceQuotas
  'usage/', // computes NodeMetrics and PodMetrics
  'reviews/', // one function per kind of review
  'subresources/', // bodies of a kind of their own
  'webhooks/', // addresses of webhooks behind Services
  'verbs/allocation.ts', // passes Services to their allocator
];

test('the server has no special cases for kinds: their definitions in src/api/kinds declare how they differ', () => {
  const own = files.filter(({ path }) => path.startsWith('server/') && !isTest(path));
  const generic = own.filter(({ path }) => !concernsKinds.some((each) => path.startsWith(`server/${each}`)));
  const imports = generic.flatMap(({ path, imports: targets }) =>
    targets.filter((target) => /^api\/kinds\/.+\//.test(target)).map((target) => `${path} imports ${target}`),
  );
  const comparison = /\b(?:kind\.(?:plural|kind)|plural) [!=]== '/;
  const compared = generic.filter(({ path }) => comparison.test(readFileSync(`${root}/src/${path}`, 'utf8')));
  assert.deepEqual([...imports, ...compared.map(({ path }) => `${path} compares the name of a kind`)], []);
});

test('there are no cycles, not even of types', () => {
  const graph = new Map(files.filter(({ path }) => !isTest(path)).map(({ path, imports }) => [path, imports]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start !== -1) cycles.push([...trail.slice(start), path].join(' → '));
    if (start !== -1 || done.has(path)) return;
    for (const target of graph.get(path) ?? []) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  assert.deepEqual(cycles, []);
});

/** Exports that only tests import, each with why it is not test support. */
const exportedForTests: Readonly<Record<string, string>> = {
  'src/proxy/routes/decide.ts: decide': 'defines what all backends do; properties compare them with it',
  'src/api/schema/protobuf.ts: encodeProtobuf': 'the inverse of decodeProtobuf; round trips test the schemas',
  'src/library.ts: startCluster': 'an entry point of the package',
  'src/api/kinds/multicluster/publication.ts: printPublication': 'the inverse of parsePublication',
};

test('every exported value is imported and used by other code than tests, and every exported type is used', () => {
  const sources = ['src', 'test', 'bench'].flatMap((folder) =>
    globSync(`${folder}/**/*.{ts,tsx}`, { cwd: root }).map((path) => ({
      path: path.replaceAll('\\', '/'),
      text: readFileSync(`${root}/${path}`, 'utf8'),
    })),
  );
  /** File → the names that others import from it; `*`: all of them. */
  const imported = new Map<string, Set<string>>();
  const importedByCode = new Map<string, Set<string>>();
  for (const { path, text } of sources) {
    const isCode = path.startsWith('src/') && !isTest(path);
    const note = (target: string, names: readonly string[]): void => {
      const file = posix.join(posix.dirname(path), target);
      for (const map of isCode ? [imported, importedByCode] : [imported]) {
        map.set(file, new Set([...(map.get(file) ?? []), ...names]));
      }
    };
    for (const [, names = '', target = ''] of text.matchAll(
      /\b(?:import|export)\s*(?:type\s*)?\{([^}]*)\}\s*from\s*'(\.[^']+)'/g,
    )) {
      note(
        target,
        names.split(',').map((name) => /^\s*(?:type\s+)?(\w+)/.exec(name)?.[1] ?? ''),
      );
    }
    for (const [, target = ''] of text.matchAll(/\bimport(?:\s*\*\s*as\s+\w+\s+from\s*|\s*\(\s*)'(\.[^']+)'/g))
      note(target, ['*']);
  }
  const exported = /^export\s+(?:async\s+)?(?:abstract\s+)?(?:const|function\*?|class)\s+(\w+)/gm;
  const isUsed = (path: string, text: string, name: string): boolean => {
    const by = (map: ReadonlyMap<string, ReadonlySet<string>>): boolean =>
      map.get(path)?.has('*') === true || map.get(path)?.has(name) === true;
    if (!by(imported)) return false;
    // What a file uses itself may be exported for tests alone.
    const isUsedInFile = text.split(new RegExp(`\\b${name}\\b`)).length > 2;
    return isTest(path) || isUsedInFile || by(importedByCode) || `${path}: ${name}` in exportedForTests;
  };
  const unused = sources
    .filter(({ path }) => path.startsWith('src/'))
    .flatMap(({ path, text }) =>
      Array.from(text.matchAll(exported), ([, name = '']) => name)
        .filter((name) => !isUsed(path, text, name))
        .map((name) => `${path}: ${name}`),
    );
  const words = new Map<string, number>();
  for (const { text } of sources)
    for (const [word] of text.matchAll(/\b[A-Z]\w+/g)) words.set(word, (words.get(word) ?? 0) + 1);
  const unusedTypes = sources.flatMap(({ path, text }) =>
    Array.from(text.matchAll(/^export (?:interface|type) (\w+)/gm), ([, name = '']) => name)
      .filter((name) => words.get(name) === 1)
      .map((name) => `${path}: ${name}`),
  );
  assert.deepEqual([...unused, ...unusedTypes], []);
});

test('file names describe the content', () => {
  const wrong = files.filter(
    ({ path }) => path.split('/').some((part) => bannedNames.test(part)) || !/^[a-z0-9./-]+$/.test(path),
  );
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});

/** Files that use the shared temporary directory, each with why it is safe. */
const usesTemporaryDirectory: Readonly<Record<string, string>> = {
  'proxy/nftables/conntrack.ts': 'mkdtemp: a new name that nobody can predict, for its owner alone',
  'library.ts': 'mkdtemp, as above',
  'cli/run-service/command.ts': 'mkdtemp, as above',
};

test('nothing uses a predictable path in a shared directory', () => {
  const shared = /\btmpdir\b|\bTMPDIR\b|['"`/](?:tmp|var\/tmp|dev\/shm)\/|enableCompileCache\(\)/;
  const found = files
    .filter(({ path }) => !isTest(path) && !(path in usesTemporaryDirectory))
    .filter(({ path }) => shared.test(readFileSync(`${root}/src/${path}`, 'utf8')));
  assert.deepEqual(
    found.map(({ path }) => path),
    [],
  );
});

test('timers come from machine/timers.ts, where their errors are caught', () => {
  // The lint rules see the global names and imports of node:timers; this is the way around them.
  const around = /\bglobalThis\.set(?:Timeout|Interval|Immediate)\b|oxlint-disable.*no-restricted/;
  const found = files
    .filter(({ path }) => !isTest(path) && path !== 'machine/timers.ts')
    .filter(({ path }) => around.test(readFileSync(`${root}/src/${path}`, 'utf8')));
  assert.deepEqual(
    found.map(({ path }) => path),
    [],
  );
});

test('Node is new enough to run the source', () => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  assert.ok(
    major > 24 || (major === 24 && minor >= 15),
    `Node ${process.versions.node} is older than 24.15: run npm ci`,
  );
});

/** Whether a range such as `^20.19.0 || >=22.12.0` contains a version. */
function contains(range: string, [major, minor]: readonly [number, number]): boolean {
  return range.split('||').some((alternative) => {
    const [, operator, least, minorText] = /^\s*(>=|\^)?\s*(\d+)(?:\.(\d+))?/.exec(alternative) ?? [];
    if (Number(least) === major) return Number(minorText ?? 0) <= minor;
    return operator === '>=' && Number(least) < major;
  });
}

test('npm installs all packages without a warning, on the oldest Node of engines too', () => {
  const read = (name: string): unknown => JSON.parse(readFileSync(`${root}/${name}`, 'utf8'));
  // Casts where bytes become objects: files that npm and this repository write.
  const { engines, allowScripts } = read('package.json') as {
    readonly engines: { readonly node: string };
    readonly allowScripts: Readonly<Record<string, boolean>>;
  };
  const { packages } = read('package-lock.json') as {
    readonly packages: Readonly<Record<string, { engines?: { node?: string }; hasInstallScript?: boolean }>>;
  };
  const [, major = 0, minor = 0] = /(\d+)\.(\d+)/.exec(engines.node)?.map(Number) ?? [];
  assert.equal(contains('>=22', [20, 19]), false);
  assert.deepEqual(
    Object.entries(packages).filter(([, { engines: { node } = {} }]) => !contains(node ?? '>=0', [major, minor])),
    [],
    'these packages need a newer Node: npm warns with EBADENGINE',
  );
  const withScripts = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript === true);
  assert.deepEqual(
    withScripts.map(([path]) => path.replace(/^.*node_modules\//, '')).filter((name) => allowScripts[name] !== false),
    [],
    'npm warns of install scripts that allowScripts does not decide about',
  );
});

test('every requirement that a test names is in docs/reference/requirements.md', () => {
  const page = readFileSync(`${root}/docs/reference/requirements.md`, 'utf8');
  const known = new Set(page.match(/(?<=^\| )(?:SRV|NAME|LB|EXT|MCS)-\d+(?= \|)/gm));
  assert.ok(known.size > 150);
  const named = ['src', 'test'].flatMap((folder) =>
    globSync(`${folder}/**/*.ts`, { cwd: root }).flatMap(
      (path) => readFileSync(`${root}/${path}`, 'utf8').match(/\b(?:SRV|NAME|LB|EXT|MCS)-\d+\b/g) ?? [],
    ),
  );
  assert.deepEqual(
    [...new Set(named)].filter((id) => !known.has(id)),
    [],
  );
});

test('every test that docs/explanation/security.md names exists', () => {
  const page = readFileSync(`${root}/docs/explanation/security.md`, 'utf8');
  const cited = Array.from(
    page.matchAll(/`((?:src|test)\/[^`]+\.test\.ts)`: ([^;|]+?)(?:;| \|)/g),
    ([, path = '', name = '']) => ({ path, name }),
  );
  assert.ok(cited.length > 40);
  const missing = cited.filter(
    ({ path, name }) => !existsSync(`${root}/${path}`) || !readFileSync(`${root}/${path}`, 'utf8').includes(name),
  );
  assert.deepEqual(missing, []);
});

test('every file that a README, an explanation or CONTRIBUTING.md names exists', () => {
  const all = globSync('{src,test,bench,bin,docs,examples}/**/*', { cwd: root }).map(
    (path) => `/${path.replaceAll('\\', '/')}`,
  );
  const pages = globSync(['{src,test}/**/README.md', 'docs/explanation/*.md', 'CONTRIBUTING.md'], { cwd: root });
  const missing = pages.flatMap((page) => {
    const named = readFileSync(`${root}/${page}`, 'utf8').match(/(?<=`)[\w./-]+\.(?:ts|js|yaml)(?=`)/g) ?? [];
    return named
      .filter((name) => !all.some((path) => path.endsWith(`/${name.replace(/^(?:\.\.?\/)+/, '')}`)))
      .map((name) => `${page}: ${name}`);
  });
  assert.deepEqual(missing, []);
});

test('every dependency has its reason in docs/dependencies.md', () => {
  // A cast where bytes become an object: our own package.json.
  const manifest = JSON.parse(readFileSync(`${root}/package.json`, 'utf8')) as Record<string, Record<string, string>>;
  const page = readFileSync(`${root}/docs/dependencies.md`, 'utf8');
  const named = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'].flatMap((section) =>
    Object.entries(manifest[section] ?? {}),
  );
  assert.deepEqual(
    named.filter(([name]) => !page.includes(`\`${name}\``)).map(([name]) => name),
    [],
    'not named in docs/dependencies.md',
  );
  assert.deepEqual(
    named.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version)).map(([name]) => name),
    Object.keys(manifest['peerDependencies'] ?? {}),
    'versions are exact but of what others install',
  );
});
