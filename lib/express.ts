/** Types only: `import "authmount/express"` declares `req.auth` for every Express request of the host's program. */
import type { AccessToken } from "./protocol/access-token";

declare global {
  // the name by which Express types are extended, in Express 4 and 5
  namespace Express {
    interface Request {
      /**
       * The verified access token of this request, set by `requireBearer`. It is a copy: changing it affects this request only.
       * If another library declares `req.auth` too, leave `authmount/express` out and call `auth.accessToken(req)`.
       */
      auth?: AccessToken;
    }
  }
}
