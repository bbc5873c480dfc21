import type { Item } from '../cache/item.ts';
import type { ServerContext } from '../context.ts';
import type { Presenter } from '../negotiate/presenter.ts';
import type { BodyReply } from '../reply.ts';
import { objectReply } from '../reply.ts';

/** A reply with one stored object, in the version of the presenter. Throws if a webhook fails to convert it. */
export async function itemReply(
  { conversions }: ServerContext,
  status: number,
  presenter: Presenter,
  item: Item,
): Promise<BodyReply> {
  await conversions.prepare(presenter.inVersion, [item]);
  return objectReply(status, presenter, item);
}
