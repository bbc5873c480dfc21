/** A text of a client in a message: what is longer than anyone reads ends in `...`. */
export const cut = (text: string, max = 1024): string => (text.length > max ? `${text.slice(0, max)}...` : text);
