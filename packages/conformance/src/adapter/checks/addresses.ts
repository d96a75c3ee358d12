import { after } from '../policies.js';
import { FORWARDED } from '../target.js';
import { newIPv4, newIPv6, type Visit } from '../visit.js';
import type { Sentence } from './sentence.js';

export function addresses(addressHeader: string): readonly Sentence[] {
  return [
    ['counts an IPv6 network of 64 bits as one client', countsNetworks],
    ['counts an IPv4 address as one client, mapped into IPv6 too', foldsMapped],
    ['trusts no other header', believesNoOther],
    ...(addressHeader === FORWARDED ? forwarded : []),
  ];
}

const forwarded: readonly Sentence[] = [
  ['trusts only the entry of the nearest proxy in X-Forwarded-For', believesTheNearest],
  ['reads addresses with a port, and in brackets', readsPorts],
  ['ignores empty elements of X-Forwarded-For', ignoresEmpty],
];

/** Asserts that all spellings count as one address. */
async function areOne(visit: Visit, ...spellings: readonly string[]): Promise<void> {
  for (const [index, address] of spellings.entries()) {
    await visit.caller({ address }).passes('/', after(index + 1));
  }
}

async function countsNetworks(visit: Visit): Promise<void> {
  const network = newIPv6('').slice(0, -2);
  await areOne(
    visit,
    `${network}::1`,
    `${network}:ffff:ffff:ffff:ffff`,
    `${network.toUpperCase()}::2`,
    `${network}:0:0:0:1`,
    `${network}::10.0.0.1`,
  );
  const groups = network.split(':');
  const next = (Number.parseInt(groups[3] as string, 16) ^ 1).toString(16);
  await visit
    .caller({ address: `${groups.slice(0, 3).join(':')}:${next}::1` })
    .passes('/', after(1));
}

async function foldsMapped(visit: Visit): Promise<void> {
  const address = newIPv4();
  const [a, b, c, d] = address.split('.').map(Number) as [number, number, number, number];
  const hex = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  await areOne(visit, address, `::ffff:${address}`, `::FFFF:${hex}`, `0:0:0:0:0:ffff:${address}`);
  await visit.caller({ address: `10.${b}.${c}.${d ^ 1}` }).passes('/', after(1));
}

async function believesNoOther(visit: Visit): Promise<void> {
  const { addressHeader } = visit.settings;
  const address = newIPv4();
  const forgeries = ['forwarded', 'x-real-ip', 'x-client-ip', 'true-client-ip', 'cf-connecting-ip'];
  const others = [...forgeries, 'fastly-client-ip', FORWARDED].filter((it) => it !== addressHeader);
  for (const [index, name] of others.entries()) {
    const value = name === 'forwarded' ? `for=${newIPv4()}` : newIPv4();
    const headers = { [name]: value };
    await visit.caller({ address }).passes('/', after(index + 1), { headers });
  }
}

async function believesTheNearest(visit: Visit): Promise<void> {
  const address = newIPv4();
  await areOne(
    visit,
    address,
    `${newIPv4()}, ${address}`,
    `${newIPv4()},${newIPv6()},${address}`,
    `<script>, , ${address}`,
  );
  const headers = { [FORWARDED]: [newIPv4(), address] };
  await visit.caller().passes('/', after(5), { headers });
}

async function ignoresEmpty(visit: Visit): Promise<void> {
  const address = newIPv4();
  await areOne(visit, address, `${address},`, `, ${address}`, `${newIPv4()},, ${address} , ,`);
}

async function readsPorts(visit: Visit): Promise<void> {
  const address = newIPv4();
  await areOne(visit, address, `${address}:1234`, `${address}:65535`);
  const network = newIPv6();
  await areOne(visit, network, `[${network}]`, `[${network}]:443`);
}
