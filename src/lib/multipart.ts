/**
 * The body of a form with files. Pure.
 * Format: RFC 7578; names are quoted as browsers do it (WHATWG HTML, multipart/form-data).
 */
export type FormPart = {
  readonly name: string;
  readonly value: string | Uint8Array;
  /** Of a file; absent: a field. */
  readonly file?: { readonly name: string; readonly type: string };
};

/** @param boundary occurs in no part: a random one */
export function multipart(
  parts: readonly FormPart[],
  boundary: string = crypto.randomUUID(),
): { readonly contentType: string; readonly body: Uint8Array } {
  const chunks: Uint8Array[] = [];
  const add = (text: string): void => void chunks.push(Buffer.from(text));
  for (const { name, value, file } of parts) {
    add(`--${boundary}\r\ncontent-disposition: form-data; name="${quoted(name)}"`);
    if (file !== undefined) {
      add(`; filename="${quoted(file.name)}"\r\ncontent-type: ${lineOf(file.type)}`);
    }
    add('\r\n\r\n');
    chunks.push(typeof value === 'string' ? Buffer.from(value) : value);
    add('\r\n');
  }
  add(`--${boundary}--\r\n`);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: Buffer.concat(chunks),
  };
}

const quotes: Readonly<Record<string, string>> = { '"': '%22', '\r': '%0D', '\n': '%0A' };

function quoted(name: string): string {
  return name.toWellFormed().replace(/["\r\n]/g, (one) => quotes[one]!);
}

function lineOf(type: string): string {
  return /^[\w.+-]+\/[\w.+-]+(?:; ?[\w-]+=[\w-]+)*$/.test(type) ? type : 'application/octet-stream';
}
