/** Names modules in the API reference as users import them: `@spillway/core/node`, not `core/src/node`. */

import { Converter, ReflectionKind } from 'typedoc';

export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.getChildrenByKind(ReflectionKind.Module)) {
      const [folder, door] = module.name.split('/src/');
      module.name = `@spillway/${folder}${!door || door === 'index' ? '' : `/${door}`}`;
      module.name = module.name.replace(/\/src$/, '');
    }
  });
}
