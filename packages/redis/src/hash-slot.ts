import { utf8Bytes } from '@spillway/core/direct';

/**
 * The hash slot of a key in a Redis Cluster: the CRC16 of its hash tag, or of the whole key without one, modulo 16,384.
 * See the [cluster specification](https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/).
 */
export function hashSlotOf(key: string): number {
  const open = key.indexOf('{');
  const close = key.indexOf('}', open);
  const isTagged = open >= 0 && close > open + 1;
  let crc = 0;
  for (const byte of utf8Bytes(isTagged ? key.slice(open + 1, close) : key)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  }
  return crc & 0x3fff;
}
