// Requests for data, besides the stream.
import { useEffect, useState } from 'preact/hooks';

/** Requests data. Rejects with the text of the server. */
export async function request<T>(
  path: string,
  options: { readonly body?: unknown; readonly signal?: AbortSignal } = {},
): Promise<T> {
  const { body, signal = null } = options;
  const response = await fetch(path, {
    signal,
    ...(body === undefined
      ? {}
      : { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  if (!response.ok) throw new Error((await response.text()).trim() || `the server answered ${response.status}`);
  return (await response.json()) as T; // as the server writes it
}

/** The path of a GET with parameters. */
export const pathOf = (path: string, parameters: Readonly<Record<string, string>>): string =>
  `${path}?${new URLSearchParams(parameters).toString()}`;

/** Data that is being requested; the last value stays while it is requested again. */
export interface Loading<T> {
  readonly value: T | undefined;
  readonly error: string | undefined;
  readonly isLoading: boolean;
}

/** Wait this long for further changes before data is requested again. */
const settleMs = 400;

/** Requests a path, and again when `version` changes; undefined: nothing is requested. */
export function useData<T>(path: string | undefined, version: unknown = 0): Loading<T> {
  const [state, setState] = useState<Loading<T> & { readonly path?: string | undefined }>(nothing);
  useEffect(() => {
    if (path === undefined) return setState(nothing);
    const stop = new AbortController();
    const isSame = state.path === path;
    setState((old) => ({ ...(old.path === path ? old : nothing), path, isLoading: true }));
    const timer = setTimeout(
      () => {
        request<T>(path, { signal: stop.signal }).then(
          (value) => setState({ path, value, error: undefined, isLoading: false }),
          (error: unknown) => {
            if (!stop.signal.aborted) setState({ path, value: undefined, error: textOf(error), isLoading: false });
          },
        );
      },
      isSame ? settleMs : 0,
    );
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [path, version]);
  return state.path === path ? state : { ...nothing, isLoading: path !== undefined };
}

const nothing = { value: undefined, error: undefined, isLoading: false } as const;

/** The message of an error. */
export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
