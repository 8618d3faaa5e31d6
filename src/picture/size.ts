/**
 * How large a picture says that it is, read from its first bytes: a file of some kilobytes can name
 * a size that fills all memory, so it is asked before anything is decoded. Pure.
 *
 * Formats: JPEG (ITU T.81, B.2.2), PNG (W3C, 11.2.2), GIF (89a, 18).
 */
export type PictureSize = { readonly width: number; readonly height: number };

/** @returns null: it is none of these, or ends before it says so */
export function sizeOf(bytes: Uint8Array): PictureSize | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const size = read(view);
    return size !== null && size.width > 0 && size.height > 0 ? size : null;
  } catch {
    // It ends too early.
    return null;
  }
}

function read(view: DataView): PictureSize | null {
  const first = view.getUint32(0);
  if (first === 0x89504e47) return { width: view.getUint32(16), height: view.getUint32(20) };
  if (first === 0x47494638)
    return { width: view.getUint16(6, true), height: view.getUint16(8, true) };
  return first >>> 16 === 0xffd8 ? sizeOfJpeg(view) : null;
}

/** Frame headers are C0 to CF but for tables (C4, CC) and the reserved C8. */
function sizeOfJpeg(view: DataView): PictureSize | null {
  for (let at = 2; at + 9 <= view.byteLength;) {
    if (view.getUint8(at) !== 0xff) return null;
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at += 1;
    } else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    } else {
      at += 2 + view.getUint16(at + 2);
    }
  }
  return null;
}
