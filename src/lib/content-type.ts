/**
 * Whether a Content-Type says JSON: `application/json` in any case; a charset must be utf-8, other
 * parameters do not matter. Format: RFC 9110, section 8.3.
 */
export function isJsonType(contentType: string | undefined): boolean {
  if (contentType === 'application/json') return true;
  const [type, ...parameters] = (contentType ?? '').toLowerCase().split(';');
  if (type!.trim() !== 'application/json') return false;
  return parameters.every((parameter) => {
    const [name, value = ''] = parameter.split('=');
    return name!.trim() !== 'charset' || /^\s*(utf-8|"utf-8")\s*$/.test(value);
  });
}

/** Whether a Content-Encoding says that the body comes as it is. Format: RFC 9110, section 8.4. */
export function isUncompressed(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || /^\s*(identity\s*)?$/i.test(contentEncoding);
}
