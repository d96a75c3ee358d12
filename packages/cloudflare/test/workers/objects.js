/** A Worker that forwards each request to the object that its path names: `/CLASS/name`. */

export { RateLimitObject } from '@spillway/cloudflare';
export { RateLimitObjectAt } from '@spillway/cloudflare/testing';

export default {
  fetch(request, env) {
    const [, binding, name] = new URL(request.url).pathname.split('/');
    const namespace = env[binding];
    return namespace.get(namespace.idFromName(name)).fetch(request);
  },
};
