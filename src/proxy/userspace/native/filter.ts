// A program that the kernel runs for every packet to a listener, before it answers: classic BPF.
import type { Cidr, IpFamily } from '../../../api/addresses.ts';
import { bitsOf, parseCidr } from '../../../api/addresses.ts';
import type { Heard } from '../heard.ts';

/** One instruction: what to do, how far to jump if a test holds and if it does not, and a number. */
export interface Step {
  readonly code: number;
  readonly jumpIf?: number;
  readonly jumpElse?: number;
  readonly number: number;
}

export const codes = { loadWord: 0x20, and: 0x54, jumpEqual: 0x15, jump: 0x05, return: 0x06 } as const;
/** Where the header of IP is, for a filter of a socket of TCP (SKF_NET_OFF). */
export const networkHeader = 0xfff0_0000;
const sourceOffset = { IPv4: 12, IPv6: 8 } as const;
const allBits = 0xffff_ffff;

/** Keeps packets from sources that are in a range of each list, and throws away the others. */
export function filterSteps(heard: Heard, family: IpFamily): readonly Step[] {
  const lists = heard.map((ranges) => listSteps(ranges, family));
  return [...lists.flat(), { code: codes.return, number: allBits }];
}

/** The bytes of a program, as the kernel wants them. */
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

/** Goes on after its end if the source is in one of the ranges; nothing of the packet is kept otherwise. */
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

/** Goes on if the source is in a range; jumps over what comes next if not. */
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

/** The words of 32 bits of which a range fixes any bit. */
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
