/** Express 4 under its own name; the parts that the tests use are typed as those of 5. */

declare module 'express4' {
  import express from 'express';
  export default express;
}
