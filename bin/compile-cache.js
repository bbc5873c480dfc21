// Chooses the directory of Node's compile cache. Node loads code from it, so nobody else may be able to write there:
// its own default is a fixed name in the shared temporary directory, which any local user can create first.
import { lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';

const writableByGroup = 0o020;
const writableByOthers = 0o002;
const sticky = 0o1000;

/**
 * The directory for the compile cache, which is created with mode 0700; undefined when there is none that only this
 * user can write to. Then Fairlead starts without a cache.
 */
export function compileCacheDirectory(env = process.env, uid = process.geteuid?.()) {
  if (uid === undefined) return undefined; // no owners to check on this system
  try {
    const { XDG_CACHE_HOME: configured = '' } = env;
    const base = isAbsolute(configured) ? configured : join(env.HOME ?? homedir(), '.cache');
    makePrivate(base);
    const directory = join(realpathSync(base), 'fairlead');
    makePrivate(directory);
    return isTrusted(directory, uid) ? directory : undefined;
  } catch {
    return undefined; // no home, a read-only file system, a full disk
  }
}

/** Creates one directory. Its parent has to exist: a home that does not is not created. */
function makePrivate(path) {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
}

/** Whether nobody but this user and root can write to the directory or replace it or one of its parents. */
function isTrusted(directory, uid) {
  const own = lstatSync(directory);
  if (!own.isDirectory() || own.uid !== uid || (own.mode & (writableByGroup | writableByOthers)) !== 0) return false;
  for (let path = dirname(directory); ; path = dirname(path)) {
    const { uid: owner, mode } = lstatSync(path);
    const isShared = (mode & (writableByGroup | writableByOthers)) !== 0 && (mode & sticky) === 0;
    if ((owner !== uid && owner !== 0) || isShared) return false;
    if (path === dirname(path)) return true;
  }
}
