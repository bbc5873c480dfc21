// Links of programs behind the server, which do not know the path under which clients reach them. Pure.

/** The attributes with links, by element, as kube-apiserver rewrites them. */
const attributes: Readonly<Record<string, readonly string[]>> = {
  a: ['href'],
  applet: ['codebase'],
  area: ['href'],
  audio: ['src'],
  base: ['href'],
  blockquote: ['cite'],
  body: ['background'],
  button: ['formaction'],
  command: ['icon'],
  del: ['cite'],
  embed: ['src'],
  form: ['action'],
  frame: ['longdesc', 'src'],
  head: ['profile'],
  html: ['manifest'],
  iframe: ['longdesc', 'src'],
  img: ['longdesc', 'src', 'usemap'],
  input: ['src', 'usemap', 'formaction'],
  ins: ['cite'],
  link: ['href'],
  object: ['classid', 'codebase', 'data', 'usemap'],
  q: ['cite'],
  script: ['src'],
  source: ['src'],
  video: ['poster', 'src'],
};

/** A page in which absolute paths begin with the prefix. */
export function rewriteLinks(page: string, prefix: string, encoding: BufferEncoding): Buffer {
  const rewritten = page.replaceAll(/<([a-z]+)(\s[^<>]*)>/gi, (tag: string, name: string, rest: string) => {
    const links = Object.hasOwn(attributes, name.toLowerCase()) ? attributes[name.toLowerCase()] : undefined;
    if (links === undefined) return tag;
    const changed = (whole: string, attribute: string, path: string): string =>
      links.includes(attribute.toLowerCase()) && !path.startsWith('//') && !path.startsWith(prefix)
        ? whole.replace(path, () => prefix + path)
        : whole;
    return `<${name}${rest.replaceAll(/\s([a-z]+)="(\/[^"]*)"/gi, changed).replaceAll(/\s([a-z]+)='(\/[^']*)'/gi, changed)}>`;
  });
  return Buffer.from(rewritten, encoding);
}

/** A redirect: paths of the program begin with the prefix, other servers stay as they are. */
export function rewriteLocation(
  location: string,
  { prefix, hosts }: { readonly prefix: string; readonly hosts: readonly string[] },
): string {
  const [, authority, path = ''] = /^(?:https?:)?\/\/([^/?#]*)(.*)$/is.exec(location) ?? [
    undefined,
    undefined,
    location,
  ];
  if (authority !== undefined && !hosts.includes(authority)) return location;
  const own = authority !== undefined && !path.startsWith('/') ? `/${path}` : path;
  if (!own.startsWith('/') || own.startsWith(prefix)) return own;
  return `${prefix}${own}`;
}
