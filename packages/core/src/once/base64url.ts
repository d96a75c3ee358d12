/** Bytes as text, without characters that mean something elsewhere: base64url of RFC 4648, unpadded. */

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

export function base64url(bytes: Uint8Array): string {
  let text = '';
  for (let i = 0; i < bytes.length; i += 3) {
    const [a = 0, b = 0, c = 0] = bytes.subarray(i, i + 3);
    const group = (a << 16) | (b << 8) | c;
    const digits = Math.min(4, bytes.length - i + 1);
    for (let d = 0; d < digits; d += 1) text += DIGITS[(group >> (18 - 6 * d)) & 63];
  }
  return text;
}
