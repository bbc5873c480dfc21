// A parser for the XML of AWS responses: elements and text, ignoring attributes and comments.

/** An element. Its text is '' if it has children. */
export interface Element {
  readonly name: string;
  readonly text: string;
  readonly children: readonly Element[];
}

/** Parses a document. Throws if elements are not closed. */
export function parseXml(document: string): Element {
  const root: { name: string; text: string; children: Element[] } = { name: '', text: '', children: [] };
  const open = [root];
  for (const [tag, end, name = '', text = ''] of document.matchAll(/<(\/?)([\w:.-]+)(?:[\s/][^<>]*)?>|([^<]+)/g)) {
    const at = open.at(-1) ?? root;
    if (name === '') at.text += text;
    else if (end === '/') {
      if (open.length === 1 || open.pop()?.name !== name) throw new Error(`unexpected end of element <${name}>`);
      at.text = at.children.length > 0 ? '' : unescape(at.text.trim());
    } else {
      const child = { name, text: '', children: [] };
      at.children.push(child);
      if (!tag.endsWith('/>')) open.push(child);
    }
  }
  const [only] = root.children;
  if (only === undefined || open.length > 1) throw new Error('the response is not a complete XML document');
  return only;
}

/** The first descendant with a name. */
export function elementIn(element: Element, name: string): Element | undefined {
  for (const child of element.children) {
    const found = child.name === name ? child : elementIn(child, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The text of the child with a name; '' if there is none. */
export const textIn = ({ children }: Element, name: string): string =>
  children.find((child) => child.name === name)?.text ?? '';

/** The items of the child with a name. */
export const itemsIn = ({ children }: Element, name: string): readonly Element[] =>
  children.find((child) => child.name === name)?.children ?? [];

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

const unescape = (text: string): string =>
  text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (all, decimal, hex, word) => {
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(String(hex), 16));
    return entities[String(word)] ?? String(all);
  });
