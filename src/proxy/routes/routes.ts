import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { ImportInput } from './import.ts';
import { importRoutes } from './import.ts';
import type { RouteOptions, ThisNode } from './options.ts';
import { defaultRouteOptions } from './options.ts';
import type { Route } from './route.ts';
import { serviceRoutes } from './service.ts';

/** The owner of routes: a Service or an import. */
export type RouteSource =
  | { readonly service: Service }
  | { readonly import: Pick<ImportInput, 'key' | 'imported' | 'serviceImport'> };

/** What routes depend on; slices are those of the owner. */
export type RouteInput = RouteSource & {
  readonly slices: readonly EndpointSlice[];
  readonly node: ThisNode;
  /** Default: `defaultRouteOptions`. */
  readonly options?: Partial<RouteOptions>;
};

/** The routes of one Service or import on this node. */
export function routesOf(input: RouteInput): readonly Route[] {
  const { slices, node } = input;
  if ('service' in input) {
    const options = { ...defaultRouteOptions, ...input.options };
    return serviceRoutes({ service: input.service, slices, node, options });
  }
  return importRoutes({ ...input.import, slices, node });
}
