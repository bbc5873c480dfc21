// Loaded before a program (`node --import`), in each of its threads. Counts the calls that use files of a store. The call
// with the number in FAIRLEAD_STEP fails with the error in FAIRLEAD_ERROR, such as EIO; without an error the process is
// killed there. At exit the threads write their counts to standard error, as `steps: N`.

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { isMainThread } from 'node:worker_threads';

type AnyFunction = (this: unknown, ...given: unknown[]) => unknown;

const lastStep = Number(process.env['FAIRLEAD_STEP'] ?? 0);
const errno = process.env['FAIRLEAD_ERROR'];
let steps = 0;

function counted(work: AnyFunction): AnyFunction {
  return function (this: unknown, ...given) {
    if (++steps === lastStep) {
      if (errno === undefined) process.kill(process.pid, 'SIGKILL');
      else throw Object.assign(new Error(`${errno}: injected`), { code: errno });
    }
    return work.apply(this, given);
  };
}

if (!isMainThread) {
  // The replacements have the same signatures.
  for (const name of ['openSync', 'fsyncSync', 'renameSync', 'rmSync', 'writeFileSync'] as const) {
    Object.assign(fs, { [name]: counted(fs[name] as AnyFunction) });
  }
  syncBuiltinESMExports();
  // Statement by statement, so that the process can end between any two.
  const exec = Reflect.get(DatabaseSync.prototype, 'exec') as AnyFunction;
  DatabaseSync.prototype.exec = function (this: DatabaseSync, sql) {
    for (const statement of sql.split(';')) counted(exec).call(this, statement);
  };
  StatementSync.prototype.run = counted(
    Reflect.get(StatementSync.prototype, 'run') as AnyFunction,
  ) as StatementSync['run'];
  process.on('exit', () => fs.writeSync(2, `steps: ${steps}\n`));
}
