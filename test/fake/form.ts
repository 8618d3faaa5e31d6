/** A form with files, read by the parser of the platform's own `fetch`, as servers do. */
export type UploadedFile = {
  /** The name of its field. */
  readonly field: string;
  readonly name: string;
  readonly type: string;
  readonly text: string;
};

export type UploadedForm = {
  readonly fields: Readonly<Record<string, string>>;
  readonly files: readonly UploadedFile[];
};

export function isForm(contentType: string | undefined): boolean {
  return contentType?.startsWith('multipart/form-data') ?? false;
}

/** @returns null: the body is no form */
export async function readForm(body: Buffer, contentType: string): Promise<UploadedForm | null> {
  const headers = { 'content-type': contentType };
  try {
    const form = await new Response(new Uint8Array(body), { headers }).formData();
    const fields: Record<string, string> = {};
    const files: UploadedFile[] = [];
    for (const [field, value] of form) {
      if (typeof value === 'string') fields[field] = value;
      else files.push({ field, name: value.name, type: value.type, text: await value.text() });
    }
    return { fields, files };
  } catch {
    return null;
  }
}
