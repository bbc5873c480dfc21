import type { Container } from '../../api/kinds/core/pod/schema.ts';

/** The image of containers that run a program of the machine. */
export const processImage = 'process';

/** What runs for an image. */
export interface MappedImage {
  /** Its default command. */
  readonly command: readonly string[];
  readonly workingDir?: string | undefined;
}

/** Image → what runs for it. */
export type ImageMap = ReadonlyMap<string, MappedImage>;

/** What an image name stands for on this machine; undefined: nothing. */
export function imageOf({ image = '' }: Pick<Container, 'image'>, images: ImageMap): MappedImage | undefined {
  return image === processImage ? { command: [] } : images.get(image);
}
