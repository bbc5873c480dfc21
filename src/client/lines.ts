/** Cuts pieces of text into lines. What is left when the pieces end is an unfinished line, and is dropped. */
export class LineCutter {
  #rest: string[] = [];

  /** The lines that `text` completes. */
  push(text: string): readonly string[] {
    const parts = text.split('\n');
    const unfinished = parts.pop() ?? '';
    if (parts.length > 0) {
      parts[0] = this.#rest.join('') + (parts[0] ?? '');
      this.#rest = [];
    }
    if (unfinished !== '') this.#rest.push(unfinished);
    return parts.filter((line) => line !== '');
  }
}
