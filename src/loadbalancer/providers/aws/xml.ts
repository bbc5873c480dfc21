// Just enough XML for answers of AWS: elements and text. Attributes, comments and the like do not matter in them.

/** An element. Its text is '' where it has others inside. */
export interface Element {
  readonly name: string;
  readonly text: string;
  readonly children: readonly Element[];
}

/** The root of a document. Throws where what is opened is not closed. */
export function parseXml(document: string): Element {
  const root: { name: string; text: string; children: Element[] } = { name: '', text: '', children: [] };
  const open = [root];
  for (const [tag, end, name = '', text = ''] of document.matchAll(/<(\/?)([\w:.-]+)(?:[\s/][^<>]*)?>|([^<]+)/g)) {
    const at = open.at(-1) ?? root;
    if (name === '') at.text += text;
    else if (end === '/') {
      if (open.length === 1 || open.pop()?.name !== name) throw new Error(`element <${name}> ends where none is open`);
      at.text = at.children.length > 0 ? '' : unescape(at.text.trim());
    } else {
      const child = { name, text: '', children: [] };
      at.children.push(child);
      if (!tag.endsWith('/>')) open.push(child);
    }
  }
  const [only] = root.children;
  if (only === undefined || open.length > 1) throw new Error('the answer is no whole document');
  return only;
}

/** The first element of a name, at any depth. */
export function elementIn(element: Element, name: string): Element | undefined {
  for (const child of element.children) {
    const found = child.name === name ? child : elementIn(child, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The text of the element's own child of that name; '' when there is none. */
export const textIn = ({ children }: Element, name: string): string =>
  children.find((child) => child.name === name)?.text ?? '';

/** What the element's own child of that name lists. */
export const itemsIn = ({ children }: Element, name: string): readonly Element[] =>
  children.find((child) => child.name === name)?.children ?? [];

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

const unescape = (text: string): string =>
  text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (all, decimal, hex, word) => {
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(String(hex), 16));
    return entities[String(word)] ?? String(all);
  });
