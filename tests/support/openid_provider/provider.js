// A certified OpenID provider for tests: `node provider.js PORT CLIENT_JSON`. Whoever names themselves is logged in.
import { Provider } from "oidc-provider";

const [port, client] = process.argv.slice(2);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [JSON.parse(client)],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["preferred_username"] },
  cookies: { keys: ["for tests"] },
  features: { devInteractions: { enabled: true }, rpInitiatedLogout: { enabled: true } },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({
      sub: id,
      preferred_username: id,
      email: `${id.toLowerCase()}@lab.example`,
      email_verified: !id.startsWith("unverified"),
    }),
  }),
  pkce: { required: () => true },
});
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
