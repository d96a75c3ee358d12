import { MetadataScanner, type ModulesContainer } from '@nestjs/core';
import { SpillwayError } from '@spillway/core';
import type { HandlerGates } from './handler-gates.js';
import { declarationsOn } from './metadata.js';

type Methods = Readonly<Record<string, object & { readonly name: string }>>;
type Class = (abstract new () => Methods) & { readonly prototype: Methods };

export function checkRegistration(modules: ModulesContainer, ours: object): void {
  const count = [...modules.values()].filter(({ metatype }) => metatype === ours).length;
  if (count > 1) {
    throw new SpillwayError(
      'SPW_REGISTERED_TWICE',
      `SpillwayModule.forRoot() must be imported once, in the root module, got ${count} imports`,
    );
  }
}

/**
 * Creates the gates of all decorated handlers, so that conflicting decorators fail at startup.
 *
 * @throws SpillwayError `SPW_NAME_CONFLICT`, `SPW_CAPTURE_MISSING`, and as `createGuard` does
 */
export function checkHandlers(modules: ModulesContainer, gates: HandlerGates): void {
  const scanner = new MetadataScanner();
  for (const { controllers, providers } of modules.values()) {
    for (const { metatype } of [...controllers.values(), ...providers.values()]) {
      if (typeof metatype !== 'function' || !metatype.prototype) continue;
      const owner = metatype as unknown as Class;
      for (const method of scanner.getAllMethodNames(owner.prototype)) {
        const handler = owner.prototype[method];
        if (!handler) continue;
        const isLimited = declarationsOn(owner).length + declarationsOn(handler).length > 0;
        if (isLimited) gates.gateFor(handler, owner);
      }
    }
  }
}
