// A socket filter (classic BPF): the kernel runs it for every packet to a listener before TCP handles it.
import type { Cidr, IpFamily } from '../../../api/addresses.ts';
import { bitsOf, parseCidr } from '../../../api/addresses.ts';
import type { AllowedSources } from '../allowed-sources.ts';

/** One instruction: code, jump offsets if a test holds and if not, operand. */
export interface Step {
  readonly code: number;
  readonly jumpIf?: number;
  readonly jumpElse?: number;
  readonly number: number;
}

export const codes = { loadWord: 0x20, and: 0x54, jumpEqual: 0x15, jump: 0x05, return: 0x06 } as const;
/** The offset of the IP header for a filter of a TCP socket (SKF_NET_OFF). */
export const networkHeader = 0xfff0_0000;
const sourceOffset = { IPv4: 12, IPv6: 8 } as const;
const allBits = 0xffff_ffff;

/** Accepts packets from sources that are in a range of each list, and drops others. */
export function filterSteps(allowedSources: AllowedSources, family: IpFamily): readonly Step[] {
  const lists = allowedSources.map((ranges) => listSteps(ranges, family));
  return [...lists.flat(), { code: codes.return, number: allBits }];
}

/** The program in the kernel's format. */
export function filterBytes(steps: readonly Step[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(steps.length * 8));
  for (const [index, { code, jumpIf = 0, jumpElse = 0, number }] of steps.entries()) {
    view.setUint16(index * 8, code, true);
    view.setUint8(index * 8 + 2, jumpIf);
    view.setUint8(index * 8 + 3, jumpElse);
    view.setUint32(index * 8 + 4, number, true);
  }
  return new Uint8Array(view.buffer);
}

/** Continues after its last step if the source is in one of the ranges, and drops the packet otherwise. */
function listSteps(ranges: readonly string[], family: IpFamily): readonly Step[] {
  const own = ranges.flatMap((text) => parseCidr(text) ?? []).filter((range) => range.family === family);
  const tests = own.map(rangeSteps);
  const length = tests.reduce((sum, steps) => sum + steps.length + 1, 1);
  const steps: Step[] = [];
  for (const test of tests) {
    steps.push(...test);
    steps.push({ code: codes.jump, number: length - steps.length - 1 });
  }
  return [...steps, { code: codes.return, number: 0 }];
}

/** Continues if the source is in a range, and skips the next step if not. */
function rangeSteps(range: Cidr): readonly Step[] {
  const steps = wordsOf(range).flatMap(({ offset, mask, value }): readonly Step[] => [
    { code: codes.loadWord, number: networkHeader + sourceOffset[range.family] + offset },
    ...(mask === allBits ? [] : [{ code: codes.and, number: mask }]),
    { code: codes.jumpEqual, number: value },
  ]);
  return steps.map((step, index) =>
    step.code === codes.jumpEqual ? { ...step, jumpElse: steps.length - index } : step,
  );
}

/** The 32-bit words in which a range fixes any bit. */
function wordsOf({
  family,
  network,
  prefixLength,
}: Cidr): readonly { readonly offset: number; readonly mask: number; readonly value: number }[] {
  const bits = bitsOf(family);
  return Array.from({ length: Math.ceil(prefixLength / 32) }, (_, index) => {
    const fixed = Math.min(32, prefixLength - index * 32);
    const mask = Number((BigInt(allBits) << BigInt(32 - fixed)) & BigInt(allBits));
    const value = Number((network >> BigInt(bits - 32 * (index + 1))) & BigInt(allBits));
    return { offset: index * 4, mask, value };
  });
}
