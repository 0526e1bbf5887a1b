/** An Express Router that answers by itself. */
import { type RequestHandler, Router } from "express";

/**
 * A Router whose requests need no walk through its layers: a request that no layer answers is handed on by Express in a later
 * turn of the event loop, and most requests of a host are not for us. What a host adds to it comes after the answers.
 */
export function directRouter(answer: RequestHandler): Router {
  const router = Router().use(answer) as Router & { handle: RequestHandler };
  const walk = router.handle.bind(router);
  router.handle = (req, res, next) => (router.stack.length > 1 ? walk : answer)(req, res, next);
  return router;
}
