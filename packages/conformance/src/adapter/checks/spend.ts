import { hasStatus } from '../assertions.js';
import { after } from '../policies.js';
import type { Caller, Visit } from '../visit.js';
import { times } from './sentence.js';

export async function spendKey(caller: Caller): Promise<void> {
  for (const index of times(5)) {
    await caller.passes('/things', { ...after(index + 1), perKey: 4 - index });
  }
}

export async function spendAddress(visit: Visit, address: string): Promise<void> {
  const askTen = async (): Promise<void> => {
    const other = visit.caller({ address });
    for (const _ of times(10)) hasStatus(await other.ask('/'), 200);
  };
  await Promise.all(times(6).map(askTen));
}
