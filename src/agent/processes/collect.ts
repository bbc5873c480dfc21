import type { ExecProcess } from './exec.ts';

/** Reads the output of a process until it ends, or kills it when the signal fires. Output beyond the limit is dropped. */
export async function collect(
  process: ExecProcess,
  maxBytes: number,
  signal: AbortSignal,
): Promise<{ readonly code: number; readonly output: string }> {
  const chunks: Buffer[] = [];
  let size = 0;
  for (const stream of [process.stdout, process.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      if (size < maxBytes) chunks.push(chunk.subarray(0, maxBytes - size));
      size += chunk.length;
    });
    stream?.on('error', () => undefined); // it was killed
  }
  const kill = (): void => process.kill();
  signal.addEventListener('abort', kill, { once: true });
  if (signal.aborted) kill();
  const code = await process.exited;
  signal.removeEventListener('abort', kill);
  signal.throwIfAborted();
  return { code, output: Buffer.concat(chunks).toString('utf8') };
}
