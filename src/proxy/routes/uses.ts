import type { Protocol } from '../../api/kinds/core/service/schema.ts';
import type { Action, FrontendKind, Route, Target } from './route.ts';
import { targetKey } from './route.ts';

/** The kinds of addresses of a port, by the clients that reach an endpoint through them. */
export interface Uses {
  /** All clients. */
  readonly usedAt: readonly FrontendKind[];
  /** Clients on this node only. */
  readonly usedNearAt: readonly FrontendKind[];
  /** No client. */
  readonly unusedAt: readonly FrontendKind[];
}

/** One port of an owner, in one family. */
export interface UsedPort {
  readonly name: string;
  readonly protocol: Protocol;
  readonly family: Route['family'];
}

/** Returns the uses of an endpoint, read from the routes themselves. */
export function usesIn(routes: readonly Route[], port: UsedPort): (endpoint: Pick<Target, 'address' | 'port'>) => Uses {
  const own = routes
    .filter(
      ({ portName, protocol, family }) =>
        portName === port.name && protocol === port.protocol && family === port.family,
    )
    .map(({ kind, action, near }) => ({ kind, all: targetsOf(action), near: targetsOf(near?.action) }));
  const kinds = [...new Set(own.map(({ kind }) => kind))];
  return (endpoint) => {
    const key = targetKey(endpoint);
    const kindsWith = (who: 'all' | 'near'): ReadonlySet<FrontendKind> =>
      new Set(own.filter((route) => route[who].has(key)).map(({ kind }) => kind));
    const [all, near] = [kindsWith('all'), kindsWith('near')];
    return {
      usedAt: kinds.filter((kind) => all.has(kind)),
      usedNearAt: kinds.filter((kind) => near.has(kind) && !all.has(kind)),
      unusedAt: kinds.filter((kind) => !near.has(kind) && !all.has(kind)),
    };
  };
}

const targetsOf = (action: Action | undefined): ReadonlySet<string> =>
  new Set(action?.type === 'forward' ? action.targets.map(targetKey) : []);
