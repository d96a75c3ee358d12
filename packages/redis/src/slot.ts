import { utf8Bytes } from '@spillway/core/direct';

/** CRC-16/XMODEM of each byte. */
const TABLE = /* @__PURE__ */ Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0);
  return crc;
});

/** The hash slot of a key on a Cluster: of the part between the first braces, or else of the whole key. */
export function slotOf(key: string): number {
  const start = key.indexOf('{') + 1;
  const end = key.indexOf('}', start);
  const tag = start > 0 && end > start ? key.slice(start, end) : key;
  // Most keys are ASCII, and encoding a text takes several times as long as the rest.
  const units = /[^ -~]/.test(tag) ? String.fromCharCode(...utf8Bytes(tag)) : tag;
  let crc = 0;
  for (let i = 0; i < units.length; i += 1) {
    crc = (crc << 8) ^ (TABLE[((crc >> 8) ^ units.charCodeAt(i)) & 0xff] as number);
  }
  return crc & 0x3fff;
}
