import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** A client with the HttpClient of Java: java Client.java MODE. */
public class Client {
    static final HttpClient HTTP = HttpClient.newHttpClient();
    static final HttpRequest REQUEST = HttpRequest.newBuilder(URI.create(System.getenv("CONFORM_PROXY_URL") + "/pets?limit=1"))
        .header("Authorization", "Bearer " + System.getenv("CLIENT_KEY")).build();

    /** Milliseconds to wait after a 429, for both forms of RFC 9110; negative after anything else. */
    static long ask() throws Exception {
        HttpResponse<String> answer = HTTP.send(REQUEST, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() != 429) return -1;
        String told = answer.headers().firstValue("Retry-After").orElse("4");
        if (told.matches("\\d+")) return Long.parseLong(told) * 1000;
        Instant until = ZonedDateTime.parse(told, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant();
        return Math.max(0, Duration.between(Instant.now(), until).toMillis() + 1);
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("threads")) {
            AtomicLong until = new AtomicLong();
            var pool = Executors.newFixedThreadPool(6);
            for (int worker = 0; worker < 6; worker++) {
                pool.submit(() -> {
                    for (int done = 0; done < 5;) {
                        long left = until.get() - System.currentTimeMillis();
                        if (left > 0) {
                            Thread.sleep(left);
                            continue;
                        }
                        long refused = ask();
                        if (refused < 0) done++;
                        else until.accumulateAndGet(System.currentTimeMillis() + refused, Math::max);
                        Thread.sleep(10);
                    }
                    return null;
                });
            }
            pool.shutdown();
            pool.awaitTermination(1, TimeUnit.MINUTES);
            return;
        }
        for (int job = 0; job < 24; job++) {
            // The pause shows a single task.
            Thread.sleep(60);
            for (int attempt = 0; attempt < 5; attempt++) {
                long refused = ask();
                if (refused < 0) break;
                Thread.sleep(arguments[0].equals("told") ? refused : 1);
            }
        }
    }
}
