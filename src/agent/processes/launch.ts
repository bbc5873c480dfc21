// Command lines that execute a program in a root directory and network of its own. Everything that runs as root is a program of
// the machine with an environment of the agent; programs and libraries of the container are used only after the change of user.
// No clock, no I/O.

/** A file or directory of the machine at a path of the container. */
export interface Mount {
  readonly source: string;
  readonly target: string;
  readonly isReadOnly: boolean;
}

/** The descriptor for the reason why a program cannot be started; it is closed when the program is executed. */
export const problemDescriptor = 3;

/** The environment of programs that run before the user is changed. */
export const launcherEnvironment: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
};

export interface Credentials {
  readonly uid: number;
  readonly gid: number;
  /** Supplementary groups. */
  readonly groups: readonly number[];
}

export interface Program {
  /** The program with its arguments. */
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly credentials: Credentials;
}

export interface Launch extends Program {
  /** A directory for the files that the container changes. */
  readonly directory: string;
  /** Directories that form its root directory together; files of earlier ones hide those of later ones. */
  readonly layers: readonly [string, ...string[]];
  readonly mounts: readonly Mount[];
  /** A process in the namespaces of the Pod; undefined: it shares those of the machine. */
  readonly namespaces: number | undefined;
  readonly allowsPrivileges: boolean;
}

/** Builds the root directory in a mount namespace of its own, and executes the program there. */
export function launchArgv(launch: Launch): readonly [string, ...string[]] {
  const { directory, layers, mounts, namespaces, cwd } = launch;
  return [
    ...(launch.allowsPrivileges ? [] : ['setpriv', '--no-new-privs', '--']),
    ...(namespaces === undefined ? [] : ['nsenter', `--target=${namespaces}`, '--net', '--uts', '--ipc', '--']),
    'unshare',
    '--mount',
    '--',
    'sh',
    '-c',
    setUpScript,
    'sandbox',
    directory,
    layers.map(escapedLayer).join(':'),
    cwd,
    ...mounts.flatMap(({ source, target, isReadOnly }) => [source, target, isReadOnly ? 'ro' : 'rw']),
    '--',
    ...insideArgv(launch, `${directory}/root`),
  ] as readonly string[] as readonly [string, ...string[]]; // it begins with a program in each case
}

/** Executes a program beside a process, in all its namespaces and its root directory. */
export const enterArgv = (pid: number, program: Omit<Program, 'cwd'>): readonly [string, ...string[]] => [
  'nsenter',
  `--target=${pid}`,
  '--mount',
  '--net',
  '--uts',
  '--ipc',
  '--',
  ...insideArgv({ ...program, cwd: `/proc/${pid}/cwd` }, `/proc/${pid}/root`),
];

/** Executes a program as a user with supplementary groups, in the root directory of the machine. */
export const asUserArgv = (program: Program): readonly [string, ...string[]] => [
  'setpriv',
  `--reuid=${program.credentials.uid}`,
  `--regid=${program.credentials.gid}`,
  `--groups=${program.credentials.groups.join(',')}`,
  '--',
  ...executeArgv(program),
];

function insideArgv(program: Program, root: string): readonly string[] {
  const { uid, gid, groups } = program.credentials;
  return [
    'chroot',
    // With a plus sign, no name service of the new root directory is asked.
    `--userspec=+${uid}:+${gid}`,
    `--groups=${groups.map((group) => `+${group}`).join(',')}`,
    root,
    ...executeArgv(program),
  ];
}

const executeArgv = ({ argv, env, cwd }: Program): readonly string[] => [
  '/bin/sh',
  '-c',
  executeScript,
  'execute',
  cwd,
  env['PATH'] ?? '',
  argv[0],
  ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
  ...argv,
];

/** In the options of an overlay, colons separate layers and commas options. */
const escapedLayer = (path: string): string => path.replaceAll(/[\\:,]/g, String.raw`\$&`);

/** `DIRECTORY LAYERS CWD [SOURCE TARGET ro|rw]... -- COMMAND...` */
const setUpScript = `
set -eu
exec 4>&2 2>&${problemDescriptor}
directory=$1 layers=$2 cwd=$3
shift 3
root=$directory/root
mkdir -p "$directory/upper" "$directory/work" "$root"
mount -t overlay -o "lowerdir=$layers,upperdir=$directory/upper,workdir=$directory/work" overlay "$root"
mkdir -p "$root/proc" "$root/sys" "$root/dev" "$root$cwd"
mount --rbind /proc "$root/proc"
mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$root/sys"
mount -t tmpfs -o mode=755,nosuid tmpfs "$root/dev"
cp -a /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/ptmx "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm"
mount --bind /dev/pts "$root/dev/pts"
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/dev/shm"
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"
ln -s fd/1 "$root/dev/stdout"
ln -s fd/2 "$root/dev/stderr"
while [ "$1" != -- ]; do
  source=$1 target=$root$2 mode=$3
  shift 3
  if [ -d "$source" ]; then
    mkdir -p "$target"
  else
    mkdir -p "\${target%/*}"
    [ -e "$target" ] || : > "$target"
  fi
  mount --rbind "$source" "$target"
  [ "$mode" = rw ] || mount -o remount,bind,ro "$target"
done
shift
exec 2>&4 4>&-
exec "$@"`;

/** `CWD PATH PROGRAM [NAME=VALUE]... PROGRAM [ARGUMENT]...`, as the user of the container. */
const executeScript = `
program=$3 path=$2
cd -P "$1" 2>&${problemDescriptor} || exit 128
shift 3
fail() {
  printf 'exec: "%s": %s' "$program" "$1" >&${problemDescriptor}
  exit 128
}
case $program in
*/*)
  [ -e "$program" ] || fail 'no such file or directory'
  [ -x "$program" ] && [ ! -d "$program" ] || fail 'permission denied'
  ;;
*) PATH=$path command -v "$program" > /dev/null || fail 'executable file not found in $PATH' ;;
esac
exec ${problemDescriptor}>&-
exec /usr/bin/env -i "$@"`;
