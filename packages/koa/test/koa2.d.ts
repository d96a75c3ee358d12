/** Koa 2 under its own name; the parts that the tests use are typed as those of 3. */

declare module 'koa2' {
  import Koa from 'koa';
  export default Koa;
}
