import type koffiModule from 'koffi';
import type { KoffiFunc } from 'koffi';

/** The C library of this process. */
export interface CLibrary {
  readonly koffi: typeof koffiModule;
  /** A function of it, by its declaration, such as `int close(int fd)`. */
  readonly define: <Call extends (...args: never[]) => number>(declaration: string) => Call;
  readonly errno: () => number;
  /** The name of an error number, as `EADDRINUSE`. */
  readonly errorName: (errno: number) => string;
}

/** Linux on 64 bits, least byte first: what the layout of its structures is written for. */
const isSupported = process.platform === 'linux' && (process.arch === 'x64' || process.arch === 'arm64');

/**
 * The C library, or undefined where its functions cannot be called: on another system, or without `koffi`, which is an
 * optional dependency. Callers then use another way and report it.
 */
export async function loadCLibrary(): Promise<CLibrary | undefined> {
  if (!isSupported) return undefined;
  try {
    const { default: koffi } = await import('koffi');
    // The package loads its binary when it is first used.
    const library = koffi.load(null);
    const names = new Map(Object.entries(koffi.os.errno).map(([name, number]) => [number, name]));
    return {
      koffi,
      define: <Call extends (...args: never[]) => number>(declaration: string): Call =>
        // A cast at the edge: the text is what declares the parameters.
        library.func(declaration) as unknown as KoffiFunc<Call>,
      errno: () => koffi.errno(),
      errorName: (errno) => names.get(errno) ?? `error ${errno}`,
    };
  } catch {
    return undefined;
  }
}
