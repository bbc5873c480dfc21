import type koffiModule from 'koffi';
import type { KoffiFunc } from 'koffi';

/** The C library of this process. */
export interface CLibrary {
  readonly koffi: typeof koffiModule;
  /** Returns a function by its declaration, such as `int close(int fd)`. */
  readonly define: <Call extends (...args: never[]) => number>(declaration: string) => Call;
  readonly errno: () => number;
  /** The name of an error number, such as `EADDRINUSE`. */
  readonly errorName: (errno: number) => string;
}

/** 64-bit little-endian Linux, for which the layout of structures is written. */
const isSupported = process.platform === 'linux' && (process.arch === 'x64' || process.arch === 'arm64');

/**
 * Loads the C library; undefined on other systems and without `koffi`, which is an optional dependency. Callers then use
 * another implementation and report it.
 */
export async function loadCLibrary(): Promise<CLibrary | undefined> {
  if (!isSupported) return undefined;
  try {
    const { default: koffi } = await import('koffi');
    // The package loads its binary on first use.
    const library = koffi.load(null);
    const names = new Map(Object.entries(koffi.os.errno).map(([name, number]) => [number, name]));
    return {
      koffi,
      define: <Call extends (...args: never[]) => number>(declaration: string): Call =>
        // The declaration determines the type of the parameters.
        library.func(declaration) as unknown as KoffiFunc<Call>,
      errno: () => koffi.errno(),
      errorName: (errno) => names.get(errno) ?? `error ${errno}`,
    };
  } catch {
    return undefined;
  }
}
