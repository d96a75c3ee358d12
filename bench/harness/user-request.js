/** A request of the user `raw`, as a guard sees it. */
export class UserRequest {
  method = 'GET';
  path = '/';
  clientIp = '203.0.113.7';
  constructor(raw) {
    this.raw = raw;
  }
  header() {
    return undefined;
  }
}
